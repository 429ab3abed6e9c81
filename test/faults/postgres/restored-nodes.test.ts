/**
 * Two nodes whose database is restored in place: `pg_dump` wrote an earlier state, and `psql` loads it, so there is
 * no new timeline. The database confirmed the lost writes to the first node only, and the second one reaches the
 * restored database first. Each node reaches the database through a proxy of its own.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TestAgent } from '../../support/agent.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { type People, settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import { program } from '../../support/program.ts'
import { type Switch, startSwitch } from '../../support/switch.ts'

postgresOnly()

const programs = process.env.BRIDGE_TEST_POSTGRES_BIN ?? ''
const canDump = hasPostgres && existsSync(join(programs, 'pg_dump'))
const soon = { interval: 100 }

interface Proxied {
  readonly server: ServerProcess
  readonly way: Switch
}

describe.skipIf(!canDump)('two nodes whose database is restored in place', () => {
  const folder = canDump ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''
  const dump = join(folder, 'earlier.sql')
  const nodes: Proxied[] = []
  let cluster: Cluster
  let told: Proxied
  let other: Proxied
  let people: People
  let conversation: string
  let session: TestAgent['session']

  const startNode = async (name: string) => {
    const way = await startSwitch(cluster.port)
    // Without a shared store the nodes take no packages.
    const named = { node_name: name, database: way.urlOf(cluster.url) }
    const settings = { ...named, log_level: 'warn', package_bytes: '0' }
    const server = await startServerProcess({ settings, joins: nodes[0]?.server })
    nodes.push({ server, way })
    return { server, way }
  }

  beforeAll(async () => {
    cluster = await Cluster.start()
    told = await startNode('told')
    other = await startNode('other')
    people = await settlePeople(told.server, { message_budget: 1_000_000 })
    conversation = await people.ada.conversationWith(people.ben.id)
    session = people.ada.session
  })
  afterAll(async () => {
    for (const { server, way } of nodes.toReversed()) {
      await server.close()
      await way.close()
    }
    await cluster?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The sender at a node. It dates its requests later than the floor of `bridge server restored`. */
  const senderAt = ({ server }: Proxied): TestAgent => {
    const { keys, enrolled } = people.ada
    const sender = new TestAgent(server.url, keys, enrolled, () => new Date(Date.now() + 29_000))
    sender.session = session
    return sender
  }
  const send = async (node: Proxied, body: string) => {
    const sending = { conversation_id: conversation, recipient_agent_id: people.ben.id, type: 'note', body }
    return (await senderAt(node).call({ target: '/api/v1/messages', body: sending })).status
  }
  const readiness = async ({ server }: Proxied) => (await fetch(`${server.url}/api/ready`)).status
  const bodies = async () =>
    (await cluster.query<{ body: string }>('SELECT body FROM messages ORDER BY id')).map(({ body }) => body)

  const beatOfOther = async () => {
    const [row] = await cluster.query<{ beat: number }>("SELECT beat::int FROM nodes WHERE name = 'other'")
    return row?.beat ?? 0
  }

  /** No node may reach the database. */
  const restore = async () => {
    const how = ['--quiet', '--single-transaction', '--set=ON_ERROR_STOP=1', `--file=${dump}`, cluster.url]
    await promisify(execFile)(join(programs, 'psql'), how)
  }
  const writeDump = () =>
    promisify(execFile)(join(programs, 'pg_dump'), ['--clean', '--if-exists', '--file', dump, cluster.url])
  /** What a node has logged since then. */
  const logOf = ({ server }: Proxied) => {
    const before = server.errors.length
    return () => server.errors.slice(before)
  }

  /** `bridge server restored` fences all sessions. */
  const accept = async () => {
    await promisify(execFile)(
      process.execPath,
      [program, 'server', 'restored', '--accept-credentials', '--data', told.server.data],
      { env: { ...process.env, BRIDGE_DATABASE_URL: cluster.url } },
    )
  }
  const startSession = async (node: Proxied) => {
    const sender = senderAt(node)
    await expect.poll(async () => (await sender.requestSession()).status, soon).toBe(200)
    session = await sender.startSession()
  }

  test('a node that ran meanwhile misses its own beats, although it was told of no lost write', async () => {
    await expect.poll(() => send(told, 'kept'), soon).toBe(200)
    await writeDump()
    const earlier = await beatOfOther()
    // The node has the answer to the last beat but one.
    await expect.poll(beatOfOther, soon).toBeGreaterThan(earlier + 2)
    other.way.isolate()
    await expect.poll(() => send(told, 'lost'), soon).toBe(200)
    told.way.isolate()
    await restore()
    other.way.lead(cluster.port)
    await expect.poll(() => other.server.errors, soon).toContain('older than the last beat of this node')
    expect(await readiness(other)).toBe(503)
    expect(await send(other, 'refused')).toBe(503)
    told.way.lead(cluster.port)
    await expect.poll(() => told.server.errors, soon).toContain('bridge server restored')
    expect(await readiness(told)).toBe(503)
    expect(await bodies()).toEqual(['kept'])
  })

  /** Both nodes have stopped when the database is restored, and the second one starts and writes first. */
  const loseWhileStopped = async (lost: string, later: string) => {
    await other.server.kill('SIGTERM')
    await writeDump()
    // Each start of the only node begins an epoch, which the restored database does not know.
    for (let starts = 0; starts < 2; starts += 1) {
      await told.server.kill('SIGTERM')
      await told.server.start()
    }
    await expect.poll(() => send(told, lost), soon).toBe(200)
    await told.server.kill('SIGTERM')
    await restore()
    await other.server.start()
    await expect.poll(() => send(other, later), soon).toBe(200)
  }

  test('a node that was stopped meanwhile finds the loss, although another one has written first', async () => {
    for (const { server } of nodes) await server.kill('SIGTERM')
    await accept()
    for (const { server } of nodes) await server.start()
    await startSession(told)
    await expect.poll(() => send(other, 'kept too'), soon).toBe(200)
    await loseWhileStopped('lost too', 'later')
    const logs = [logOf(told), logOf(other)] as const
    await expect(told.server.start()).rejects.toThrow()
    await expect.poll(logs[0], soon).toContain('the database has lost confirmed writes: for ')
    await expect.poll(() => readiness(other), soon).toBe(503)
    await expect.poll(logs[1], soon).toContain('another node found: the database has lost confirmed writes')
    expect((await bodies()).slice(-2)).toEqual(['kept too', 'later'])
  })

  test('control: without the ids that an epoch keeps, that loss is silent', async () => {
    await other.server.kill('SIGTERM')
    await accept()
    for (const { server } of nodes) await server.start()
    await startSession(told)
    await loseWhileStopped('lost silently', 'last')
    await cluster.query('DELETE FROM kept_epochs')
    await told.server.start()
    for (const node of nodes) await expect.poll(() => readiness(node), soon).toBe(200)
    expect(await bodies()).not.toContain('lost silently')
  })
})
