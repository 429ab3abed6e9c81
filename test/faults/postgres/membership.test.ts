/** Several server processes on one PostgreSQL database: which of them are members, and which one leads. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { version } from '../../../sdk/version.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { closeNodes, makeSilent, readNodes, startNodes } from '../../support/cluster-nodes.ts'
import { agentAt, ownerAt } from '../../support/nodes.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import type { ServerProcess } from '../../support/process.ts'
import { program } from '../../support/program.ts'

postgresOnly()

describe.skipIf(!hasPostgres)('two nodes on one database', () => {
  let cluster: Cluster
  let first: ServerProcess
  let second: ServerProcess
  let owner: TestOwner
  let project: { id: string }
  let ada: TestAgent

  beforeAll(async () => {
    cluster = await Cluster.start()
    ;[first, second] = await startNodes(cluster, 2)
    owner = await setUpOwner(first.url, first.setupLink)
    project = await owner.createProject('demo')
    const { id } = await owner.createAgent(project.id, 'ada')
    ada = await enroll(first.url, await owner.enrollmentCode(project.id, id), () => new Date())
    await ada.startSession()
  })
  afterAll(async () => {
    await closeNodes([first, second].filter(Boolean))
    await cluster?.close()
  })

  const members = async () =>
    (await readNodes(cluster)).map(({ name, leads }) => (leads ? `${name} leads` : name))
  const readiness = async ({ url }: ServerProcess) => {
    const answer = await fetch(`${url}/api/ready`)
    const { checks } = (await answer.json()) as { checks: Record<string, boolean> }
    return { status: answer.status, nodes: checks.nodes }
  }
  const endedAt = async (node: ServerProcess) => {
    const { ended_nodes } = await ownerAt(node, owner).ok<{ ended_nodes: { name: string; left: boolean }[] }>(
      {
        target: '/api/admin/telemetry',
      },
    )
    return ended_nodes.map(({ name, left }) => `${name} ${left ? 'left' : 'is lost'}`)
  }
  const statusAt = async (node: ServerProcess) =>
    (await agentAt(node, ada).call({ target: '/api/v1/inbox' })).status

  test('both are ready and serve the same agent, and the first one leads', async () => {
    expect(await readiness(first)).toEqual({ status: 200, nodes: true })
    expect(await readiness(second)).toEqual({ status: 200, nodes: true })
    expect([await statusAt(first), await statusAt(second)]).toEqual([200, 200])
    expect(await members()).toEqual(['a leads', 'b'])
  })

  test('the owner and the status on either host see both, with version, load and lag', async () => {
    const shape = {
      version,
      cpu_percent: expect.any(Number),
      waits: 0,
      lag_ms: expect.any(Number),
      seen_at: expect.any(String),
    }
    const both = [
      { ...shape, name: 'a', leads: true },
      { ...shape, name: 'b', leads: false },
    ]
    const there = ownerAt(second, owner)
    for (const each of [owner, there])
      for (const target of ['/api/admin/telemetry', `/api/admin/projects/${project.id}`])
        expect(await each.ok({ target })).toMatchObject({ nodes: both })
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, 'server', 'status', '--json', '--data', second.data],
      { env: { ...process.env, BRIDGE_DATABASE_URL: cluster.url } },
    )
    expect(JSON.parse(stdout)).toMatchObject({ nodes: both })
  })

  test('a suspended node is removed, and then answers nothing until it has joined again', async () => {
    process.kill(second.pid, 'SIGSTOP')
    await makeSilent(cluster, 'b')
    await expect.poll(members, { timeout: 9000 }).toEqual(['a leads'])
    const lock = new pg.Client({ connectionString: cluster.url })
    await lock.connect()
    try {
      // Readers still see the table, and no node can beat or join.
      await lock.query('BEGIN; LOCK TABLE nodes IN SHARE MODE')
      process.kill(second.pid, 'SIGCONT')
      expect(await statusAt(second)).toBe(503)
      expect(await readiness(second)).toEqual({ status: 503, nodes: false })
      expect(await statusAt(first)).toBe(200)
    } finally {
      process.kill(second.pid, 'SIGCONT')
      await lock.end()
    }
    await expect.poll(() => statusAt(second), { timeout: 9000 }).toBe(200)
    expect(await members()).toEqual(['a leads', 'b'])
  })

  test('a node that ends frees its place and its lease at once', async () => {
    await first.kill('SIGTERM')
    expect((await readNodes(cluster)).map(({ name }) => name)).toEqual(['b'])
    expect(await endedAt(second)).toEqual(['a left'])
    await expect.poll(members, { timeout: 6000 }).toEqual(['b leads'])
    await first.start()
    expect(await members()).toEqual(['a', 'b leads'])
    expect([await endedAt(first), await endedAt(second)]).toEqual([[], []])
  })

  test('another one leads soon after the leader was killed', async () => {
    await second.kill('SIGKILL')
    // Its row is still there.
    expect(await endedAt(first)).toEqual([])
    await makeSilent(cluster, 'b')
    expect(await endedAt(first)).toEqual(['b is lost'])
    await expect.poll(members, { timeout: 8000 }).toEqual(['a leads'])
    expect(await endedAt(first)).toEqual(['b is lost'])
    await second.start()
    expect(await members()).toEqual(['a leads', 'b'])
    expect(await endedAt(first)).toEqual([])
  })

  test('another one leads although the leader was killed before the clock of the database was set back', async () => {
    await first.kill('SIGKILL')
    await cluster.query("UPDATE nodes SET seen_at = seen_at + interval '1 h' WHERE name = 'a'")
    await cluster.query("UPDATE leases SET until = until + interval '1 h'")
    await expect.poll(members, { timeout: 8000 }).toEqual(['b leads'])
    await first.start()
    expect(await members()).toEqual(['a', 'b leads'])
  })

  test('a leader that was suspended for less than its lease does not take it back', async () => {
    expect(await members()).toEqual(['a', 'b leads'])
    process.kill(second.pid, 'SIGSTOP')
    try {
      await makeSilent(cluster, 'b')
      await expect.poll(members, { timeout: 9000 }).toEqual(['a leads'])
    } finally {
      process.kill(second.pid, 'SIGCONT')
    }
    await expect.poll(members).toEqual(['a leads', 'b'])
    // The node that leads renews its lease every five seconds, and the other one asks for it every second.
    const lease = async () =>
      (await cluster.query<{ until: string }>('SELECT until::text FROM leases'))[0]?.until ?? ''
    for (let renewals = 0; renewals < 2; renewals += 1) {
      const before = await lease()
      await expect.poll(lease).not.toBe(before)
    }
    expect(await members()).toEqual(['a leads', 'b'])
  })
})
