/** What listening takes and gives. Contract §6, §13. */
import type { Acknowledged, InboxPage, OfferedMessage } from '../contract/agent/messages.ts'
import type { Receipt } from '../contract/events.ts'
import type { CallOptions } from '../transport/http.ts'
import type { ListenTransport } from './choice.ts'

/** A message that was offered, with what acknowledges it. */
export interface ReceivedMessage extends OfferedMessage {
  /** Say that it is durably recorded. */
  acknowledge(): Promise<Acknowledged>
}

/** An inbox page, whichever way it came. */
export interface ReceivedPage extends Omit<InboxPage, 'waiting'> {
  /** How many messages are unacknowledged; null over a stream, which does not tell. */
  readonly waiting: number | null
}

/** Until when to listen. */
export interface ListenOptions extends Pick<CallOptions, 'signal'> {
  /** The most messages of a page. */
  readonly limit?: number | undefined
  /** When to stop by itself. */
  readonly until?: Date | undefined
  /** Only these, in the order of preference; the Bridge's when absent, which are all. */
  readonly transports?: readonly ListenTransport[] | undefined
  /** The node went away (with the reason), or is back. */
  readonly onConnection?: ((away: Error | undefined) => void) | undefined
  /** Another transport is open than before. */
  readonly onTransport?: ((transport: ListenTransport) => void) | undefined
  /** Messages of this agent were acknowledged. A hint that long-poll never gives; `messages.get` is the truth. */
  readonly onReceipts?: ((receipts: readonly Receipt[]) => void) | undefined
}
