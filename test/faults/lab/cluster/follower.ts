/** A reader that follows a list by `after`, each page at a random node. */
import { type Chance, pick } from '../../../support/chance.ts'
import type { Reply } from '../../../support/http.ts'
import type { Cluster } from '../../../support/postgres-cluster.ts'
import type { ServerProcess } from '../../../support/process.ts'
import { machineMs } from '../client-log.ts'
import type { Followed } from './rules.ts'
import { isSkewed, stoodStill } from './skew.ts'

export interface Reading {
  readonly what: string
  /** The record after which it begins, by default the start of the list. */
  readonly first?: string
  read(node: ServerProcess, query: string): Promise<Reply>
  /** The query for the ids that the database holds, in order, with its values. */
  readonly stored: readonly [query: string, ...values: string[]]
}

interface Page {
  readonly has_more: boolean
  readonly next_after: string | null
  readonly [list: string]: unknown
}

export class Follower {
  readonly #reading: Reading
  readonly #chance: Chance
  readonly #seen: string[] = []
  #after: string | undefined

  constructor(reading: Reading, chance: Chance) {
    this.#reading = reading
    this.#chance = chance
    this.#after = reading.first
  }

  /** The ids of all records so far. */
  get seen(): readonly string[] {
    return this.#seen
  }

  /** Reads the next page. Returns whether there are more, or undefined if the node does not answer. */
  async page(nodes: readonly ServerProcess[]): Promise<boolean | undefined> {
    const node = pick(this.#chance, nodes) as ServerProcess
    const query = `limit=50${this.#after === undefined ? '' : `&after=${this.#after}`}`
    const begunMs = machineMs()
    const reply = await this.#reading.read(node, query).catch(() => undefined)
    if (reply === undefined || reply.status >= 500) return undefined
    if (isSkewed(reply) || stoodStill(reply, begunMs)) return undefined
    if (reply.status !== 200) throw new Error(`${this.#reading.what} answered ${reply.status} ${reply.text}`)
    const page = reply.json as Page
    const [list] = Object.values(page).filter((each) => Array.isArray(each)) as { id: string }[][]
    this.#seen.push(...(list ?? []).map(({ id }) => id))
    this.#after = page.next_after ?? this.#after
    return page.has_more
  }

  /**
   * Follows the list to its end, after the last write of the load. A node that removes a package writes a
   * record later, so the end is read again while the database holds more. A record that was skipped stays
   * missing.
   */
  async end(nodes: readonly ServerProcess[], cluster: Cluster): Promise<Followed> {
    const { what, stored } = this.#reading
    const [query, ...values] = stored
    for (let triesLeft = 5; ; triesLeft -= 1) {
      while ((await this.page(nodes)) !== false);
      const rows = await cluster.query<{ id: string }>(query, values)
      if (rows.length <= this.#seen.length || triesLeft === 0)
        return { what, seen: this.#seen, stored: rows.map(({ id }) => id) }
    }
  }
}
