/**
 * Two nodes whose PostgreSQL server fails over to an asynchronous standby that is behind. The database
 * confirmed the lost writes to the first node only, and the second one writes on the promoted standby before
 * the first one sees it. Each node reaches the database through a proxy of its own. BRIDGE_PROMOTIONS=20 repeats
 * all of it that often.
 */
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { witnessPath } from '../../../server/storage/data-folder.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import type { ServerProcess } from '../../support/process.ts'
import { program } from '../../support/program.ts'
import {
  closeProxied,
  LateSender,
  type ProxiedNode,
  readinessOf,
  startProxied,
} from '../lab/postgres/proxied-nodes.ts'
import { startBehind } from '../lab/postgres/standby.ts'

postgresOnly()

const long = process.env.BRIDGE_PROMOTIONS
const rounds = Array.from({ length: Number(long ?? 1) }, (_, index) => index + 1)
const soon = { timeout: 15_000, interval: 20 }
/** From the refusal by the node that found a loss to that by the other one, which sees it with its next beat. */
const otherWithinMs = long === undefined ? soon.timeout : 2000

interface Proxied extends ProxiedNode {
  /** Length of its log when the last database was lost. */
  readBefore: number
}

describe.skipIf(!hasPostgres)('two nodes whose database fails over to a standby that is behind', () => {
  const clusters: Cluster[] = []
  const nodes: Proxied[] = []
  let primary: Cluster
  let told: Proxied
  let other: Proxied
  let sender: LateSender

  const startNode = async (name: string) => {
    const node: Proxied = { ...(await startProxied(primary, name, nodes[0]?.server)), readBefore: 0 }
    nodes.push(node)
    return node
  }

  beforeAll(async () => {
    primary = await Cluster.start()
    clusters.push(primary)
    told = await startNode('told')
    other = await startNode('other')
    sender = await LateSender.settle(told)
  })
  afterAll(async () => {
    await closeProxied(nodes)
    for (const cluster of clusters) await cluster.close()
  })

  const send = (node: Proxied, body: string) => sender.send(node, body)
  const startSession = () => sender.startSession(told, (status) => expect.poll(status, soon).toBe(200))
  const bodies = async () =>
    (await primary.query<{ body: string }>('SELECT body FROM messages ORDER BY id')).map(({ body }) => body)
  /** What a node has logged since the last database was lost. */
  const logOf = ({ server, readBefore }: Proxied) => server.errors.slice(readBefore)

  /**
   * The standby has everything that the database confirmed to the second node. Otherwise that node, which also
   * removes old nonces, might find the loss by itself.
   */
  const startBehindTold = async () => {
    const standby = await startBehind(primary, async () => other.way.isolate())
    clusters.push(standby)
    for (const node of nodes) node.readBefore = node.server.errors.length
    return standby
  }
  /** The primary is lost with its files, and the standby takes its place. */
  const promote = async (standby: Cluster) => {
    await primary.close()
    await standby.promote()
    primary = standby
  }
  /** The standby lacks the messages of the first node, and only the second node is led to it. */
  const loseAndWrite = async (lost: string, later: string) => {
    const standby = await startBehindTold()
    expect(await send(told, lost)).toBe(200)
    await promote(standby)
    other.way.lead(standby.port)
    await expect.poll(() => send(other, later), soon).toBe(200)
  }

  const restored = async ({ data }: ServerProcess) =>
    promisify(execFile)(
      process.execPath,
      [program, 'server', 'restored', '--accept-credentials', '--data', data],
      { env: { ...process.env, BRIDGE_DATABASE_URL: primary.url } },
    )

  describe.each(rounds)('failover %i', (round) => {
    test('no node serves once the node that was told more has compared, although the other has written', async () => {
      await expect.poll(() => send(told, `on both ${round}`), soon).toBe(200)
      await loseAndWrite(`lost ${round}`, `later ${round}`)
      told.way.lead(primary.port)
      await expect.poll(() => readinessOf(told), soon).toBe(503)
      const foundMs = performance.now()
      await expect.poll(() => readinessOf(other), soon).toBe(503)
      expect(performance.now() - foundMs).toBeLessThan(otherWithinMs)
      for (const node of [told, other]) {
        await expect.poll(() => logOf(node), soon).toContain('bridge server restored')
        expect(await send(node, 'refused')).toBe(503)
        expect((await sender.people.owner.call({ target: '/api/admin' })).status).toBe(503)
      }
      expect(logOf(other)).toContain('another node found: the database has lost confirmed writes')
      expect((await bodies()).slice(-2)).toEqual([`on both ${round}`, `later ${round}`])
    })

    test('bridge server restored on one host is enough, and the other node serves again without a restart', async () => {
      const { pid } = told.server
      await other.server.kill('SIGTERM')
      const { stderr } = await restored(other.server)
      expect(stderr).toContain('lost confirmed writes')
      await expect.poll(() => readinessOf(told), soon).toBe(200)
      expect(told.server.pid).toBe(pid)
      expect(logOf(told)).toContain('it may lack writes that it confirmed to this node up to')
      await other.server.start()
      await startSession()
      for (const node of [told, other]) expect(await send(node, 'served')).toBe(200)
    })

    test('a node that was stopped meanwhile is refused at its start, and then no node serves', async () => {
      const standby = await startBehindTold()
      expect(await send(told, 'lost too')).toBe(200)
      await told.server.kill('SIGTERM')
      await promote(standby)
      for (const { way } of nodes) way.lead(standby.port)
      await expect.poll(() => send(other, 'later still'), soon).toBe(200)
      await expect(told.server.start()).rejects.toThrow('bridge server restored')
      await expect.poll(() => readinessOf(other), soon).toBe(503)
    })

    test('control: without the witness of the first node the loss is silent', async () => {
      await restored(told.server)
      await told.server.start()
      await expect.poll(() => readinessOf(other), soon).toBe(200)
      await startSession()
      await loseAndWrite(`lost silently ${round}`, 'last')
      await told.server.kill()
      rmSync(witnessPath(told.server.data))
      told.way.lead(primary.port)
      await told.server.start()
      for (const node of [told, other]) expect(await readinessOf(node)).toBe(200)
      expect(await bodies()).not.toContain(`lost silently ${round}`)
    })
  })
})
