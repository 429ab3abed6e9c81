/**
 * Tells the other nodes which agents wait at this one: in the table `listeners`, then by a notification. All
 * changes of 250 ms are one statement. A wait that ended counts as open for half a second, because the next
 * long-poll of the same agent follows at once.
 */
import type { Bus } from '../bus/bus.ts'
import type { Listener, Listeners } from '../database/listeners.ts'
import type { Nodes } from '../database/nodes.ts'
import { Outage } from '../outage.ts'

/** The present waits of an agent at this node. */
export type Waits = Omit<Listener, 'since'>

export interface OwnListenersServices {
  readonly bus: Pick<Bus, 'tell' | 'onGap'>
  readonly nodes: Pick<Nodes, 'onReturn'>
  readonly now: () => Date
  /** Returns the present waits of an agent. Undefined if it has had none. */
  readonly waitsOf: (agentId: string) => Waits | undefined
  readonly log: { error(more: object, text: string): void }
}

const everyMs = 250
const settleMs = 500
const cleanEveryMs = 60_000
/** Rows of one statement. */
const batch = 1000

export class OwnListeners {
  readonly #services: OwnListenersServices
  readonly #listeners: Listeners
  readonly #changed = new Set<string>()
  /** States as last written for the other nodes. An agent that has left is not in it. */
  readonly #told = new Map<string, Listener>()
  /** When each agent was first seen to wait for less. */
  readonly #lessSince = new Map<string, number>()
  readonly #outage = new Outage()
  #timer: NodeJS.Timeout | undefined
  #cleaner: NodeJS.Timeout
  #busy: Promise<void> | undefined
  #isStopped = false

  constructor(services: OwnListenersServices, listeners: Listeners) {
    this.#services = services
    this.#listeners = listeners
    // A crash of the database may have emptied the table.
    services.bus.onGap(() => this.#tellAgain())
    // The others have forgotten the waits of a node that they counted as ended.
    services.nodes.onReturn(() => this.#tellAgain())
    this.#cleaner = setInterval(() => this.#clean(), cleanEveryMs).unref()
  }

  /** Must be called after each change of the waits of an agent. */
  changed(agentId: string): void {
    this.#changed.add(agentId)
    this.#schedule()
  }

  #tellAgain(): void {
    for (const agentId of this.#told.keys()) this.#changed.add(agentId)
    this.#told.clear()
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    clearInterval(this.#cleaner)
    await this.#busy
  }

  #schedule(): void {
    if (this.#isStopped || this.#timer !== undefined || this.#changed.size === 0) return
    this.#timer = setTimeout(() => {
      this.#busy = this.#flush().finally(() => {
        this.#timer = undefined
        this.#schedule()
      })
    }, everyMs).unref()
  }

  #clean(): void {
    const log = (error: unknown) =>
      this.#services.log.error({ err: error }, 'failed to remove the listeners of ended nodes')
    this.#listeners.clean().catch(log)
  }

  async #flush(): Promise<void> {
    const { bus, log, now } = this.#services
    const rows = this.#due(now())
    try {
      for (let start = 0; start < rows.length; start += batch)
        await this.#listeners.write(rows.slice(start, start + batch))
      if (rows.length > 0) this.#outage.end()
    } catch (error) {
      if (this.#outage.isNew(error)) log.error({ err: error }, 'failed to store who listens at this node')
      for (const { agent_id } of rows) this.#changed.add(agent_id)
      return
    }
    for (const row of rows) {
      const { agent_id, project_id, waiting, listening, since, ended_at } = row
      if (waiting === 0) this.#told.delete(agent_id)
      else this.#told.set(agent_id, row)
      bus.tell('presence', [agent_id, project_id, waiting, listening, since, ended_at])
    }
  }

  /** Takes the changes that are to be told. Those that may be undone within half a second stay. */
  #due(now: Date): Listener[] {
    const nowMs = now.getTime()
    const rows: Listener[] = []
    for (const agentId of [...this.#changed]) {
      const waits = this.#services.waitsOf(agentId)
      const told = this.#told.get(agentId)
      const level = waits === undefined ? 0 : waits.waiting + waits.listening
      const toldLevel = told === undefined ? 0 : told.waiting + told.listening
      if (level < toldLevel) {
        const since = this.#lessSince.get(agentId) ?? nowMs
        this.#lessSince.set(agentId, since)
        if (nowMs - since < settleMs) continue
      }
      this.#lessSince.delete(agentId)
      this.#changed.delete(agentId)
      if (waits !== undefined && level !== toldLevel) rows.push({ ...waits, since: now.toISOString() })
    }
    return rows
  }
}
