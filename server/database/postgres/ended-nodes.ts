/** The nodes that this one has seen end. In memory only: a node that starts again has seen none. */
import type { EndedEntry, NodeEntry } from '../nodes.ts'
import { deadAfterMs } from './alive.ts'

const keptMs = 24 * 3_600_000

/** A row of the table of nodes. */
export interface SeenNode extends NodeEntry {
  /** Time since its last beat, by the clock of the database. */
  readonly silentMs: number
}

export class EndedNodes {
  readonly #own: string
  readonly #alive = new Map<string, { readonly node: SeenNode; readonly atMs: number }>()
  /** By name. */
  readonly #ended = new Map<string, { readonly node: EndedEntry; readonly atMs: number }>()

  constructor(own: string) {
    this.#own = own
  }

  /** Takes all rows of the table. */
  note(rows: readonly SeenNode[], nowMs: number): void {
    for (const node of rows)
      if (node.silentMs > deadAfterMs) this.#end(node, nowMs, false)
      else this.#alive.set(node.id, { node, atMs: nowMs })
    const ids = new Set(rows.map(({ id }) => id))
    // A node that ends removes its own row. The others remove only that of a silent one.
    for (const [id, { node, atMs }] of this.#alive)
      if (!ids.has(id)) this.#end(node, nowMs, node.silentMs + nowMs - atMs <= deadAfterMs)
    const names = new Set([...this.#alive.values()].map(({ node }) => node.name))
    for (const [name, { atMs }] of this.#ended)
      if (names.has(name) || nowMs - atMs > keptMs) this.#ended.delete(name)
  }

  /** Lists the nodes without those whose name serves again, by name. */
  list(): readonly EndedEntry[] {
    return [...this.#ended.values()]
      .map(({ node }) => node)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  #end({ id, name, version, seenAt }: NodeEntry, atMs: number, left: boolean): void {
    this.#alive.delete(id)
    if (id !== this.#own && this.#ended.get(name)?.node.id !== id)
      this.#ended.set(name, { node: { id, name, version, seenAt, left }, atMs })
  }
}
