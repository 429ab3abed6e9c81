/**
 * Which offers were handed over already.
 *
 * Delivery is at least once: a message that is not acknowledged comes again, with a higher `attempt`, and is passed on.
 * But an offer can also travel twice: its connection broke, or the node was killed, before the node knew that the bytes
 * had arrived; then the same attempt comes over the next connection. That one is left out:
 *
 * - Only what was handed over is left out, and only at exactly the same attempt. Should the reader have lost it after
 *   all, the node offers it again after the redelivery interval, under the next number. So nothing is lost.
 * - A lower attempt means that the node was restored from a backup: it is passed on.
 * - What was acknowledged through this Bridge is left out whatever its attempt: it was on its way when that was said.
 *
 * It is remembered for as long as one `listen()` runs, as many as an inbox can hold. A new `listen()` starts afresh.
 *
 * Contract §6.
 */
import type { OfferedMessage } from '../contract/agent/messages.ts'
import { limits } from '../contract/limits.ts'

export class SeenOffers {
  readonly #attempts = new Map<string, number>()
  readonly #acknowledged: Pick<AcknowledgedIds, 'has'>

  constructor(acknowledged: Pick<AcknowledgedIds, 'has'>) {
    this.#acknowledged = acknowledged
  }

  /** The messages that are to be handed over; they count as handed over from now on. */
  take(messages: readonly OfferedMessage[]): OfferedMessage[] {
    return messages.filter(({ id, delivery }) => {
      if (this.#acknowledged.has(id) || this.#attempts.get(id) === delivery.attempt) return false
      this.#remember(id, delivery.attempt)
      return true
    })
  }

  #remember(id: string, attempt: number): void {
    this.#attempts.delete(id)
    this.#attempts.set(id, attempt)
    if (this.#attempts.size > limits.inboxUnacknowledged) forgetOldest(this.#attempts)
  }
}

/** Ids that were acknowledged here, the newest ones. */
export class AcknowledgedIds {
  readonly #ids = new Map<string, true>()

  add(ids: readonly string[]): void {
    for (const id of ids) this.#ids.set(id, true)
    while (this.#ids.size > limits.inboxUnacknowledged) forgetOldest(this.#ids)
  }

  has(id: string): boolean {
    return this.#ids.has(id)
  }
}

function forgetOldest(map: Map<string, unknown>): void {
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
