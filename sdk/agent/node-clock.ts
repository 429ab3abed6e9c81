/** The node's time: this machine's clock plus the difference that the session knows. */
import type { SessionKeeper } from './session.ts'

export class NodeClock {
  readonly #keeper: SessionKeeper
  readonly #clock: () => Date

  constructor(keeper: SessionKeeper, clock: () => Date) {
    this.#keeper = keeper
    this.#clock = clock
  }

  /** The node's time now. */
  async now(): Promise<Date> {
    return (await this.synchronised())()
  }

  /** A clock that applies the difference known now. A later correction does not change it. */
  async synchronised(): Promise<() => Date> {
    const { clock_offset_ms: offsetMs } = await this.#keeper.stored()
    return () => new Date(this.#clock().getTime() + offsetMs)
  }
}
