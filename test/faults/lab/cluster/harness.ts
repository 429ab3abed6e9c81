/**
 * Three nodes as processes behind HAProxy, on a PostgreSQL server with a synchronous standby and an object
 * store. Each node reaches the database and the object store through links of its own, and so does the standby the
 * primary.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { hasPooler, type Pooler, startPooler } from '../../../server/postgres/pooler.ts'
import { closeNodes, startNode } from '../../../support/cluster-nodes.ts'
import { freePort } from '../../../support/free-port.ts'
import { Balancer, hasBalancer } from '../../../support/haproxy.ts'
import { testKeys } from '../../../support/object-store.ts'
import { ownerPassword, setUpOwner, type TestOwner } from '../../../support/owner.ts'
import { isOnPostgres } from '../../../support/postgres.ts'
import { Cluster, hasPostgres } from '../../../support/postgres-cluster.ts'
import type { Ending, ProcessOptions, ServerProcess } from '../../../support/process.ts'
import { machineMs } from '../client-log.ts'
import { type Link, startLink } from './link.ts'
import { ObjectsProcess } from './objects.ts'
import { clockThatCanBeSet } from './set-clock.ts'

/** The programs without which this machine has no harness, or an empty text. */
export const lackingPrograms = [
  ...(hasPostgres ? [] : ['the programs of PostgreSQL']),
  ...(hasBalancer ? [] : ['haproxy']),
].join(', ')

/** The reason for which this machine or run has none of the longer tests, or an empty text. */
export const lacking = isOnPostgres ? lackingPrograms : 'BRIDGE_TEST_STORE=postgres'

export interface HarnessOptions {
  /** Options of each node, by its index. */
  readonly node?: (index: number) => ProcessOptions
  /** An earlier edition of the published file for HAProxy. */
  readonly balancer?: string | undefined
  /** False starts no standby. */
  readonly standby?: boolean
  /** True puts PgBouncer with pooling of transactions between the links and the database. */
  readonly pooler?: boolean
  /** True lets `setClock` set the clock of the database. */
  readonly movesClock?: boolean
}

/** The same for tests behind PgBouncer. */
export const lackingPooler = lacking || (hasPooler ? '' : 'pgbouncer')

/** The limit of each test in its long form. A machine that is slow or stands for minutes stays below it. */
export const longestMs = 4 * 3_600_000

export const nodeNames = ['a', 'b', 'c'] as const

export class Harness {
  readonly nodes: readonly ServerProcess[]
  readonly balancer: Balancer
  /** From each node to the database. */
  readonly links: readonly Link[]
  /** From each node to the object store. */
  readonly storeLinks: readonly Link[]
  /** From the standby to the primary. */
  readonly replication: Link
  readonly owner: TestOwner
  readonly objects: ObjectsProcess
  primary: Cluster
  standby: Cluster | undefined
  /** Primaries that were killed. Removing their files would slow down the disk of the others. */
  readonly #lost: Cluster[] = []
  #aheadMs = 0
  readonly #pooler: Pooler | undefined

  private constructor(parts: Parts) {
    this.nodes = parts.nodes
    this.balancer = parts.balancer
    this.links = parts.links
    this.storeLinks = parts.storeLinks
    this.replication = parts.replication
    this.owner = parts.owner
    this.objects = parts.objects
    this.primary = parts.primary
    this.standby = parts.standby
    this.#pooler = parts.pooler
  }

  static async start(options: HarnessOptions = {}): Promise<Harness> {
    const cleanups: (() => Promise<unknown>)[] = []
    const made = async <T>(making: Promise<T>, close: (it: T) => Promise<unknown>): Promise<T> => {
      const it = await making
      cleanups.push(() => close(it))
      return it
    }
    try {
      const primary = await made(Cluster.start(walKept), (it) => it.close())
      const replication = await made(startLink(primary.port), (it) => it.close())
      const standby =
        options.standby === false
          ? undefined
          : await made(primary.startStandby(replication.port), (it) => it.close())
      if (standby !== undefined) await requireStandby(primary)
      const objects = await made(ObjectsProcess.start(), (it) => it.close())
      const pooler = options.pooler
        ? await made(startPooler(primary.url, 'transaction'), (it) => it.close())
        : undefined
      const way = pooler?.url ?? primary.url
      if (options.movesClock) await primary.query(clockThatCanBeSet)
      const port = await freePort()
      const links: Link[] = []
      const storeLinks: Link[] = []
      const nodes: ServerProcess[] = []
      for (const [index, name] of nodeNames.entries()) {
        const link = await made(startLink(Number(new URL(way).port)), (it) => it.close())
        const storeLink = await made(startLink(objects.port), (it) => it.close())
        const given = options.node?.(index) ?? {}
        const settings = {
          ...objects.settings,
          package_bytes: String(64 * 1024 * 1024),
          packages_endpoint: storeLink.urlOf(objects.endpoint).replace(/\/$/, ''),
          portal_origin: `http://127.0.0.1:${port}`,
          trusted_proxy: '127.0.0.1',
          ...given.settings,
        }
        const environment = { ...testKeys, ...given.environment }
        const database = { url: link.urlOf(way) }
        const node = startNode(database, name, nodes[0], { ...given, settings, environment })
        nodes.push(await made(node, (it) => closeNodes([it])))
        links.push(link)
        storeLinks.push(storeLink)
      }
      const ports = nodes.map((node) => node.port)
      const balancer = await made(Balancer.start(port, ports, options.balancer), (it) => it.close())
      const owner = await setUpOwner(balancer.url, nodes[0]?.setupLink ?? '')
      return new Harness({
        ...{ nodes, balancer, links, storeLinks, replication },
        ...{ owner, objects, primary, standby, pooler },
      })
    } catch (error) {
      for (const cleanUp of cleanups.reverse()) await cleanUp()
      throw error
    }
  }

  /** The time of the database. */
  readonly now = (): Date => new Date(Date.now() + this.#aheadMs)

  /** Sets the clock of the database. Clients that sign by `now` follow. */
  async setClock(aheadMs: number): Promise<void> {
    await this.primary.query("UPDATE shim.clock SET ahead = $1 * interval '1 ms'", [aheadMs])
    this.#aheadMs = aheadMs
  }

  get url(): string {
    return this.balancer.url
  }

  /**
   * Confirms the sign-in of the owner, which enrolments and takeovers need every ten minutes. It changes the
   * cookie, so no other request of the owner may be open.
   */
  async confirmOwner(): Promise<void> {
    await this.owner.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
  }

  /** Kills a node and starts it again. `meanwhile` runs before the start. */
  async killNode(index: number, meanwhile: () => Promise<unknown>): Promise<void> {
    const node = this.nodes[index]
    await node?.kill('SIGKILL')
    await meanwhile()
    await node?.start()
  }

  /**
   * Stops a node as an upgrade does, and starts its program, or another one. Resolves with the end of the old
   * process.
   */
  async replaceNode(index: number, program?: string): Promise<Ending | undefined> {
    const node = this.nodes[index]
    const ending = await node?.kill('SIGTERM')
    await node?.start(program === undefined ? {} : { program })
    return ending
  }

  async killBalancer(): Promise<void> {
    await this.balancer.kill()
    await this.balancer.start()
  }

  /** Kills the object store and starts it again. `meanwhile` runs before the start. */
  async killObjectStore(meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
    await this.objects.kill()
    await meanwhile()
    await this.objects.restart()
  }

  /** Kills the standby and starts it again. Commits wait meanwhile. */
  async killStandby(kill = (standby: Cluster) => standby.kill()): Promise<void> {
    const { standby } = this
    if (standby === undefined) throw new Error('there is no standby')
    await kill(standby)
    await standby.start()
  }

  /** Kills the primary and promotes the standby. Resolves with the time of the promotion, as `machineMs` tells it. */
  async failOver(kill = (primary: Cluster) => primary.kill()): Promise<number> {
    const { primary: lost, standby } = this
    if (standby === undefined) throw new Error('there is no standby')
    await kill(lost)
    for (const link of this.links) link.lead(standby.port)
    await standby.promote()
    const promotedMs = machineMs()
    this.primary = standby
    this.standby = undefined
    this.#lost.push(lost)
    return promotedMs
  }

  /** Gives the primary a synchronous standby again, and then removes the files of the primary that was killed. */
  async followUp(): Promise<void> {
    this.replication.lead(this.primary.port)
    this.standby = await this.primary.startStandby(this.replication.port)
    await requireStandby(this.primary)
    await this.#removeLost()
  }

  async #removeLost(): Promise<void> {
    for (const lost of this.#lost.splice(0)) await lost.close()
  }

  async close(): Promise<void> {
    await this.balancer.close()
    await closeNodes(this.nodes)
    for (const link of [...this.links, ...this.storeLinks, this.replication]) await link.close()
    await this.objects.close()
    await this.#pooler?.close()
    await this.standby?.close()
    await this.primary.close()
    await this.#removeLost()
  }
}

interface Parts {
  readonly nodes: readonly ServerProcess[]
  readonly balancer: Balancer
  readonly links: readonly Link[]
  readonly storeLinks: readonly Link[]
  readonly replication: Link
  readonly owner: TestOwner
  readonly objects: ObjectsProcess
  readonly primary: Cluster
  readonly standby: Cluster | undefined
  readonly pooler: Pooler | undefined
}

/**
 * A standby that was down for seconds continues from the WAL that the primary has kept. It looks for a primary
 * that recovers from a crash again after 200 ms instead of 5 s, because commits wait for it. It says each second
 * instead of every 10 s what it has. The primary ignores that until the standby has caught up.
 */
const walKept = [
  'wal_keep_size = 256MB',
  'wal_retrieve_retry_interval = 200ms',
  'wal_receiver_status_interval = 1s',
  'max_connections = 60',
]

/** Commits wait for the standby as soon as it has what was committed before. */
async function requireStandby(primary: Cluster): Promise<void> {
  const following = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
  while ((await primary.query(following)).length === 0) await sleep(20)
  await primary.requireStandby()
}
