/** Options of a Bridge. Contract §13. */

import type { Flushed } from './agent/agent-calls.ts'
import type { DirectoryStore } from './agent/directory.ts'
import type { Identity } from './agent/identity.ts'
import type { SessionStore } from './agent/session.ts'
import type { Client } from './contract/agent/enrollments.ts'
import type { ListenTransport } from './delivery/transport-choice.ts'
import type { Outbox, OutboxEntry } from './storage/outbox.ts'
import type { Fetch } from './transport/fetch.ts'
import type { HoldAnswer } from './waiting/questions.ts'

/** Options of a Bridge. Only address and identity are required. The defaults suit a long-lived program. */
export interface BridgeOptions {
  /** Address of the node, with an optional path prefix. */
  readonly baseUrl: string
  readonly identity: Identity
  /** Store of the session. In memory by default. */
  readonly sessions?: SessionStore | undefined
  /**
   * Outbox for mutations. None by default: then the caller must retry a failed mutation with its
   * Idempotency-Key.
   */
  readonly outbox?: Outbox | undefined
  /** Store of the cached peers. In memory by default. */
  readonly directory?: DirectoryStore | undefined
  /**
   * Function that sends requests. By default undici's fetch on a separate pool. The event stream needs its
   * `body`.
   */
  readonly fetch?: Fetch | undefined
  /** Allowed transports for listening, in order of preference. By default all that the node offers. */
  readonly transports?: readonly ListenTransport[] | undefined
  readonly clock?: (() => Date) | undefined
  /** Monotonic clock in milliseconds, for durations. */
  readonly monotonicMs?: (() => number) | undefined
  readonly random?: ((bytes: number) => Buffer) | undefined
  readonly client?: Client | undefined
  /**
   * Allows plain http to other machines. Signatures still protect requests, but every body is sent
   * unencrypted.
   */
  readonly allowPlainHttp?: boolean | undefined
  /**
   * Certificate authority in PEM to trust at the node, besides those of the process. It does not apply to a given
   * `fetch`, which trusts what it was made with.
   */
  readonly ca?: string | undefined
  readonly timeoutMs?: number | undefined
  /** Pauses between attempts. A timer by default. */
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
  readonly onFlushed?: ((flushed: Flushed) => void) | undefined
  readonly onKept?: ((entry: OutboxEntry) => void) | undefined
  /** Reserves the answer to a question for this process. */
  readonly holdAnswer?: HoldAnswer | undefined
}
