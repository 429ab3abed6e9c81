/** Filled nodes that several sections share: filled on first use, and ended after the last section. */
import { type Filled, startFilled } from './filled.ts'

export class Stores {
  readonly #started = new Map<number, Promise<Filled>>()

  /** Returns a node with this many rows of each kind. */
  filled(rows: number): Promise<Filled> {
    const started = this.#started.get(rows) ?? startFilled({ rows, bodyBytes: 240 })
    this.#started.set(rows, started)
    return started
  }

  async end(): Promise<void> {
    const all = await Promise.allSettled(this.#started.values())
    this.#started.clear()
    // A node that failed has ended already.
    for (const each of all) if (each.status === 'fulfilled') await each.value.server.close()
  }
}
