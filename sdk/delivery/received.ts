/** Options and results of listening. Contract §6, §13. */

import type { Receipt } from '../contract/agent/events.ts'
import type { Acknowledged, InboxPage, OfferedMessage } from '../contract/agent/messages.ts'
import type { CallOptions } from '../transport/http.ts'
import type { ListenTransport } from './transport-choice.ts'

/** Offered message with a method that acknowledges it. */
export interface ReceivedMessage extends OfferedMessage {
  /** Acknowledges the message. Call it once the message is recorded durably or handled. */
  acknowledge(): Promise<Acknowledged>
}

/** Page of the inbox, from any transport. */
export interface ReceivedPage extends Omit<InboxPage, 'waiting'> {
  /**
   * Number of unacknowledged messages in the inbox. Null over socket and event stream, which do not carry it.
   */
  readonly waiting: number | null
}

/** Options of listening. */
export interface ListenOptions extends Pick<CallOptions, 'signal'> {
  /** Largest number of messages per page. */
  readonly limit?: number | undefined
  /** Time at which listening ends. */
  readonly until?: Date | undefined
  /** Allowed transports in order of preference. If absent, those of the Bridge, which are all by default. */
  readonly transports?: readonly ListenTransport[] | undefined
  /**
   * Called with the reason when the node becomes unreachable, and with undefined when it is reachable again.
   */
  readonly onConnection?: ((away: Error | undefined) => void) | undefined
  /** Called when a connection opens over another transport than before. */
  readonly onTransport?: ((transport: ListenTransport) => void) | undefined
  /**
   * Called when recipients acknowledged messages of this agent. It is a hint that long-poll never gives;
   * `messages.get` returns the authoritative state.
   */
  readonly onReceipts?: ((receipts: readonly Receipt[]) => void) | undefined
}
