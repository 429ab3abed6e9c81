/** The owner's limits on listening without messages. Contract §5 "policy". */
import type { SessionKeeper } from '../agent/session.ts'
import type { SessionPolicy } from '../contract/agent/sessions.ts'

export class IdlePolicy {
  readonly #keeper: SessionKeeper
  readonly #clock: () => Date
  #since: number
  #empty = 0

  constructor(keeper: SessionKeeper, clock: () => Date) {
    this.#keeper = keeper
    this.#clock = clock
    this.#since = clock().getTime()
  }

  /**
   * Returns true if listening ends with this page: after `idle_seconds` without a message, or `empty_polls`
   * empty pages in a row.
   */
  async isReached(page: { readonly messages: readonly unknown[] }): Promise<boolean> {
    const now = this.#clock().getTime()
    if (page.messages.length > 0) {
      this.#since = now
      this.#empty = 0
      return false
    }
    this.#empty += 1
    const { policy } = await this.#keeper.stored()
    const { idle_seconds: idle, empty_polls: polls } = policy ?? unlimited
    return (idle !== null && now - this.#since >= idle * 1000) || (polls !== null && this.#empty >= polls)
  }
}

const unlimited: SessionPolicy = { idle_seconds: null, empty_polls: null }
