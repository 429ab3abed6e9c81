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
import { postgresOnly } from '../../support/one-store.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { program } from '../../support/program.ts'
import {
  closeProxied,
  LateSender,
  type ProxiedNode,
  readinessOf,
  startProxied,
} from '../lab/postgres/proxied-nodes.ts'

postgresOnly()

const programs = process.env.BRIDGE_TEST_POSTGRES_BIN ?? ''
const canDump = hasPostgres && existsSync(join(programs, 'pg_dump'))
const soon = { interval: 100 }

describe.skipIf(!canDump)('two nodes whose database is restored in place', () => {
  const folder = canDump ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''
  const dump = join(folder, 'earlier.sql')
  const nodes: ProxiedNode[] = []
  let cluster: Cluster
  let told: ProxiedNode
  let other: ProxiedNode
  let sender: LateSender

  beforeAll(async () => {
    cluster = await Cluster.start()
    told = await startProxied(cluster, 'told', undefined)
    nodes.push(told)
    other = await startProxied(cluster, 'other', told.server)
    nodes.push(other)
    sender = await LateSender.settle(told)
  })
  afterAll(async () => {
    await closeProxied(nodes)
    await cluster?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const send = (node: ProxiedNode, body: string) => sender.send(node, body)
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
  /** Returns a function that tells what the node has logged since this call. */
  const logOf = ({ server }: ProxiedNode) => {
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
  const startSession = () => sender.startSession(told, (status) => expect.poll(status, soon).toBe(200))

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
    expect(await readinessOf(other)).toBe(503)
    expect(await send(other, 'refused')).toBe(503)
    told.way.lead(cluster.port)
    await expect.poll(() => told.server.errors, soon).toContain('bridge server restored')
    expect(await readinessOf(told)).toBe(503)
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
    await startSession()
    await expect.poll(() => send(other, 'kept too'), soon).toBe(200)
    await loseWhileStopped('lost too', 'later')
    const logs = [logOf(told), logOf(other)] as const
    await expect(told.server.start()).rejects.toThrow()
    await expect.poll(logs[0], soon).toContain('the database has lost confirmed writes: for ')
    await expect.poll(() => readinessOf(other), soon).toBe(503)
    await expect.poll(logs[1], soon).toContain('another node found: the database has lost confirmed writes')
    expect((await bodies()).slice(-2)).toEqual(['kept too', 'later'])
  })

  test('control: without the ids that an epoch keeps, that loss is silent', async () => {
    await other.server.kill('SIGTERM')
    await accept()
    for (const { server } of nodes) await server.start()
    await startSession()
    await loseWhileStopped('lost silently', 'last')
    await cluster.query('DELETE FROM kept_epochs')
    await told.server.start()
    for (const node of nodes) await expect.poll(() => readinessOf(node), soon).toBe(200)
    expect(await bodies()).not.toContain('lost silently')
  })
})
