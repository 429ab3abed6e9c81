/**
 * Presence at the other nodes of the database, kept in memory: the table `listeners`, and the changes that the
 * other nodes tell. A node that has not beaten for ten seconds counts as ended, and so do its waits.
 *
 * Where notifications do not arrive, the table is read once per second. Otherwise it is read if it differs from
 * what is known: another node may have been unable to tell.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Bus } from '../bus/bus.ts'
import type { Listener, ListenerAt, Listeners, ListenersSummary } from '../database/listeners.ts'
import { Outage } from '../outage.ts'
import type { PresenceChanges } from './presence-changes.ts'

/** Waits of one agent at all other nodes. */
export interface Elsewhere {
  readonly waiting: boolean
  readonly listening: boolean
  /** When the last wait for messages ended. */
  readonly endedAt: Date | undefined
}

export class OtherNodes {
  readonly #changes: Pick<PresenceChanges, 'waits'>
  /** By agent, then by node. */
  readonly #agents = new Map<string, Map<string, Listener>>()

  constructor(changes: Pick<PresenceChanges, 'waits'>) {
    this.#changes = changes
  }

  of(agentId: string): Elsewhere | undefined {
    const nodes = this.#agents.get(agentId)
    if (nodes === undefined) return undefined
    const all = [...nodes.values()]
    const ended = all.flatMap(({ ended_at }) => ended_at ?? []).toSorted()
    const last = ended.at(-1)
    return {
      waiting: all.some(({ waiting }) => waiting === 1),
      listening: all.some(({ listening }) => listening === 1),
      endedAt: last === undefined ? undefined : new Date(last),
    }
  }

  take(nodeId: string, listener: Listener): void {
    const { agent_id: agentId, project_id, waiting, listening } = listener
    const nodes = this.#agents.get(agentId) ?? new Map<string, Listener>()
    this.#agents.set(agentId, nodes.set(nodeId, listener))
    const level = listening === 1 ? 2 : waiting
    this.#changes.waits({ agent_id: `${nodeId} ${agentId}`, project_id }, level)
  }

  /** Replaces everything by the rows of the table. */
  takeAll(rows: readonly ListenerAt[]): void {
    const found = new Set(rows.map(({ node_id, agent_id }) => `${node_id} ${agent_id}`))
    this.#keep((nodeId, agentId) => found.has(`${nodeId} ${agentId}`))
    for (const row of rows) this.take(row.node_id, row)
  }

  summary(): ListenersSummary {
    const all = [...this.#agents.values()].flatMap((nodes) => [...nodes.values()])
    const waiting = all.filter((each) => each.waiting === 1)
    return {
      waiting: waiting.length,
      listening: waiting.filter(({ listening }) => listening === 1).length,
      since:
        waiting
          .map(({ since }) => since)
          .sort()
          .at(-1) ?? null,
    }
  }

  keepNodes(ids: ReadonlySet<string>): void {
    this.#keep((nodeId) => ids.has(nodeId))
  }

  #keep(isKept: (nodeId: string, agentId: string) => boolean): void {
    for (const [agentId, nodes] of this.#agents) {
      for (const [nodeId, { project_id }] of nodes) {
        if (isKept(nodeId, agentId)) continue
        nodes.delete(nodeId)
        this.#changes.waits({ agent_id: `${nodeId} ${agentId}`, project_id }, 0)
      }
      if (nodes.size === 0) this.#agents.delete(agentId)
    }
  }
}

export interface OtherNodesServices {
  readonly bus: Pick<Bus, 'hear' | 'onGap' | 'mode'>
  readonly log: { error(more: object, text: string): void }
}

const everyMs = 1000
/** While notifications arrive, each of these rounds checks which nodes have ended. */
const checkRounds = 3

/** Runs until the returned function is called. */
export function followOtherNodes(
  { bus, log }: OtherNodesServices,
  others: OtherNodes,
  listeners: Listeners,
): () => void {
  const outage = new Outage()
  let isStale = true
  let busy = false
  let round = 0
  /** Notices of other nodes that arrive while the table is read. The answer may lack them. */
  let told: (() => void)[] | undefined
  const readTable = async () => {
    isStale = false
    told = []
    try {
      others.takeAll(await listeners.readOthers())
      for (const take of told) take()
    } catch (error) {
      isStale = true
      throw error
    } finally {
      told = undefined
    }
  }
  const run = async () => {
    round += 1
    if (isStale || bus.mode === 'polled') await readTable()
    else if (round % checkRounds === 0) {
      const { nodes, ...found } = await listeners.readSummary()
      others.keepNodes(new Set(nodes))
      if (!isDeepStrictEqual(found, others.summary())) await readTable()
    } else return
    outage.end()
  }
  const tick = () => {
    if (busy) return
    busy = true
    run()
      .catch((error: unknown) => {
        if (outage.isNew(error)) log.error({ err: error }, 'failed to read who listens at other nodes')
      })
      .finally(() => {
        busy = false
      })
  }
  bus.hear('presence', ([agent_id, project_id, waiting, listening, since, ended_at], from) => {
    const take = () => others.take(from, { agent_id, project_id, waiting, listening, since, ended_at })
    take()
    told?.push(take)
  })
  bus.onGap(() => {
    isStale = true
    tick()
  })
  const timer = setInterval(tick, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
