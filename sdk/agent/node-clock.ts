/** The node's time: this machine's clock plus the offset that the session stores. */
import type { SessionKeeper } from './session.ts'

export class NodeClock {
  readonly #keeper: SessionKeeper
  readonly #clock: () => Date

  constructor(keeper: SessionKeeper, clock: () => Date) {
    this.#keeper = keeper
    this.#clock = clock
  }

  /** Returns the node's current time. */
  async now(): Promise<Date> {
    return (await this.synchronised())()
  }

  /** Returns a clock with the current offset. A later correction does not change it. */
  async synchronised(): Promise<() => Date> {
    const { clock_offset_ms: offsetMs } = await this.#keeper.stored()
    return () => new Date(this.#clock().getTime() + offsetMs)
  }
}
