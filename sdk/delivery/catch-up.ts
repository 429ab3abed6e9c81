/**
 * Reads what a broken connection may have lost.
 *
 * The node counts an offer when it has handed the bytes to its own system. If a node or a proxy dies after that,
 * the bytes are lost, and the node offers the message again only after the redelivery interval of 60 seconds. So
 * a listener whose connection broke lists the unacknowledged messages once, which offers nothing, and passes on
 * those that it has not got.
 *
 * - It lists only messages stored after the newest one that it has got. New messages follow in that order. An
 *   older one, which can only be a redelivery, comes after the interval.
 * - It stops at a page without an offered message: the next connection brings all that follow.
 * - Two listeners of one session share its offers. Each may therefore get a message that the other is working on.
 *
 * Contract §6.
 */
import type { Message, OfferedMessage } from '../contract/agent/messages.ts'
import { limits } from '../contract/limits.ts'
import type { Inbox } from '../resources/inbox.ts'
import { LocalError } from '../transport/failures.ts'
import type { ReceivedPage } from './received.ts'

export class CatchUp {
  readonly #inbox: Pick<Inbox, 'list'>
  #newest: string | undefined
  #isDue = false

  constructor(inbox: Pick<Inbox, 'list'>) {
    this.#inbox = inbox
  }

  /** Records the messages that the listener got. */
  got(messages: readonly OfferedMessage[]): void {
    for (const { id } of messages) if (this.#newest === undefined || id > this.#newest) this.#newest = id
  }

  /**
   * Records that a connection failed. A refusal of the node loses nothing: all that the node sent before it has
   * arrived.
   */
  failed(failure: unknown): void {
    const isBroken = failure instanceof LocalError && /^(unreachable|timeout)$/.test(failure.code)
    if (isBroken) this.#isDue = true
  }

  /** Yields the listed messages as pages, perhaps empty ones, if a connection has failed since the last time. */
  async *pages(signal: AbortSignal): AsyncGenerator<ReceivedPage, void, undefined> {
    if (!this.#isDue) return
    for (let after = this.#newest; ; ) {
      const page = await this.#inbox.list({ after, limit: limits.pageDefault, signal, attempts: 1 })
      const { messages, has_more, waiting } = page
      yield { messages: messages.map(asOffered), has_more, waiting }
      if (!has_more || messages.every(({ delivery }) => delivery.offers === 0)) break
      after = page.next_after ?? undefined
    }
    this.#isDue = false
  }
}

/** The last offer of a message. An offer that the node has not recorded is its first. */
function asOffered(message: Message): OfferedMessage {
  const { stored_at, first_offered_at, offers } = message.delivery
  const attempt = Math.max(1, offers)
  const delivery = {
    ...message.delivery,
    attempt,
    offers: attempt,
    first_offered_at: first_offered_at ?? stored_at,
  }
  return { ...message, delivery }
}
