/** Filled nodes that several sections look at: filled when the first one asks, and ended after the last. */
import { type Filled, startFilled } from './filled.ts'

export class Stores {
  readonly #started = new Map<number, Promise<Filled>>()

  /** A node with so many rows of each kind. */
  filled(rows: number): Promise<Filled> {
    const started = this.#started.get(rows) ?? startFilled({ rows, bodyBytes: 240 })
    this.#started.set(rows, started)
    return started
  }

  async end(): Promise<void> {
    const all = await Promise.allSettled(this.#started.values())
    this.#started.clear()
    // One that failed has ended by itself.
    for (const each of all) if (each.status === 'fulfilled') await each.value.server.close()
  }
}
