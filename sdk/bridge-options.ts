/** The options of a Bridge. Contract §13. */

import type { Flushed } from './agent/courier.ts'
import type { DirectoryStore } from './agent/directory.ts'
import type { Identity } from './agent/identity.ts'
import type { SessionStore } from './agent/session.ts'
import type { Client } from './contract/agent/enrollments.ts'
import type { ListenTransport } from './delivery/choice.ts'
import type { Outbox, OutboxEntry } from './storage/outbox.ts'
import type { Fetch } from './transport/fetch.ts'
import type { HoldAnswer } from './waiting/questions.ts'

/**
 * The address and the identity of a Bridge. All else has a default, which suits a long-lived program.
 */
export interface BridgeOptions {
  /** May have a path prefix. */
  readonly baseUrl: string
  readonly identity: Identity
  /** Where the session is kept; in memory when absent. */
  readonly sessions?: SessionStore | undefined
  /** What mutations go through; none when absent, so that a failed one is the caller's to retry with its key. */
  readonly outbox?: Outbox | undefined
  /** What is remembered of peers; in memory when absent. */
  readonly directory?: DirectoryStore | undefined
  /** undici's, over a pool of its own, when absent. An event stream is read from its answers' `body`. */
  readonly fetch?: Fetch | undefined
  /** How this agent may listen; every way that the node offers when absent. */
  readonly transports?: readonly ListenTransport[] | undefined
  readonly clock?: (() => Date) | undefined
  /** For durations: never set back or forward. */
  readonly monotonicMs?: (() => number) | undefined
  readonly random?: ((bytes: number) => Buffer) | undefined
  readonly client?: Client | undefined
  /** Plain http beyond this machine: proofs hold, but every body travels in the clear. */
  readonly allowPlainHttp?: boolean | undefined
  readonly timeoutMs?: number | undefined
  /** Waits between attempts. */
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
  readonly onFlushed?: ((flushed: Flushed) => void) | undefined
  readonly onKept?: ((entry: OutboxEntry) => void) | undefined
  /** Reserves the answer to a question for this process. */
  readonly holdAnswer?: HoldAnswer | undefined
}
