/**
 * Filter for offers that the caller already received.
 *
 * Delivery is at least once. If a message is not acknowledged, the node offers it again with a higher
 * `attempt`, and the filter passes it on. The node can also send the same offer twice: if the connection
 * breaks before the node knows that the bytes arrived, it sends the same attempt over the next connection.
 * The filter drops that repetition.
 *
 * - It drops an offer only if the caller got the same message with the same attempt. If the caller lost the
 *   message, the node offers it again after the redelivery interval, with the next attempt. So no message is
 *   lost.
 * - It passes on a lower attempt, which means that the node was restored from a backup.
 * - It drops every offer of a message that was acknowledged through this Bridge: the offer was already in
 *   flight, or the node was restored from a backup and forgot the acknowledgement. It reports these messages,
 *   so that they are acknowledged again. Otherwise the restored node would offer them for ever.
 *
 * One `listen()` remembers 10,000 offers, as many as an inbox holds. A new `listen()` starts with an empty
 * filter.
 *
 * Contract §6.
 */
import type { OfferedMessage } from '../contract/agent/messages.ts'
import { limits } from '../contract/limits.ts'

export class SeenOffers {
  readonly #attempts = new Map<string, number>()
  readonly #acknowledged: Pick<AcknowledgedIds, 'has'>
  readonly #onAcknowledged: (ids: readonly string[]) => void

  /** `onAcknowledged` gets the ids of messages that are offered although they were acknowledged. */
  constructor(
    acknowledged: Pick<AcknowledgedIds, 'has'>,
    onAcknowledged: (ids: readonly string[]) => void = () => {},
  ) {
    this.#acknowledged = acknowledged
    this.#onAcknowledged = onAcknowledged
  }

  /** Returns the messages to pass on to the caller, and remembers them as passed on. */
  take(messages: readonly OfferedMessage[]): OfferedMessage[] {
    const acknowledged = messages.map(({ id }) => id).filter((id) => this.#acknowledged.has(id))
    if (acknowledged.length > 0) this.#onAcknowledged(acknowledged)
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

/** The last 10,000 message ids that were acknowledged through this Bridge. */
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
