/**
 * The pause before the next try, and the policy of one request. temporary.ts decides which failures are tried again.
 *
 * Contract §2 ("a 503 means unknown: retry with the same key"), §13.
 */
import { BridgeError } from './failures.ts'
import { isTemporary } from './temporary.ts'

export interface Pauses {
  readonly firstMs: number
  readonly longestMs: number
  /** How many times as long as the last pause the next one is, by default 2. */
  readonly growth?: number
}

/** The pauses of everything in the SDK that tries again, in milliseconds. */
export const pauses = {
  /** Before a listener opens its next connection. */
  listen: { firstMs: 500, longestMs: 15_000 },
  /** Before a listener tries a barred transport again. */
  barredTransport: { firstMs: 60_000, longestMs: 1_800_000 },
  /** Before `ask` and `tasks.wait` look at the node again. */
  wait: { firstMs: 300, longestMs: 5000 },
  /** Before a worker lists or claims tasks again. */
  work: { firstMs: 250, longestMs: 15_000 },
  /** Before an owner's live view reads again. */
  follow: { firstMs: 250, longestMs: 5000 },
  /** Before a recipient looks again whether the upload is verified. It waits at most a quarter longer than needed. */
  uploadPending: { firstMs: 250, longestMs: 5000, growth: 1.25 },
  /** Before a part is sent or read again while another operation uses the transfer. */
  partBusy: { firstMs: 100, longestMs: 2000 },
  /**
   * Before a part is sent or read again after its connection failed. A node that is away for seconds is then missed for
   * at most a quarter longer, and 250 ms.
   */
  partBroken: { firstMs: 250, longestMs: 4000, growth: 1.25 },
  /** Before the same helper of a direct transfer is tried again. Each look at its endpoint is in the node's audit. */
  helperAway: { firstMs: 1000, longestMs: 30_000 },
} as const satisfies Record<string, Pauses>

/**
 * The pause after `failures` failures in a row: it grows each time. With a jitter of 0 ≤ jitter < 1 it lies between half
 * and the whole of that, so that clients do not return in step.
 */
export function backoff(
  failures: number,
  { firstMs, longestMs, growth = 2 }: Pauses,
  jitter?: number,
): number {
  const ms = Math.min(longestMs, firstMs * growth ** (failures - 1))
  return jitter === undefined ? ms : ms * (0.5 + jitter / 2)
}

export interface Attempted {
  /** 1 for the first. */
  readonly attempt: number
  /** Attempts that the caller allows. {@link retryLimits} by default. */
  readonly attempts?: number | undefined
  /** The method is GET, or the request carries an Idempotency-Key, or it is idempotent by nature. */
  readonly repeatable: boolean
  readonly failure: unknown
  /** 0 ≤ jitter < 1. */
  readonly jitter: number
}

export const retryLimits = { attempts: 4, firstMs: 200, longestMs: 10_000 } as const

/** Milliseconds to wait before the next attempt of a request. Undefined gives up and reports the failure. */
export function retryDelay(attempted: Attempted): number | undefined {
  const { attempt, attempts = retryLimits.attempts, repeatable, failure, jitter } = attempted
  if (attempt >= Math.min(attempts, retryLimits.attempts)) return undefined
  if (!isTemporary(failure, repeatable ? 'repeatable request' : 'other request')) return undefined
  const named = failure instanceof BridgeError ? failure.retryAfterMs : undefined
  // The caller decides about long waits: only it knows its other work.
  if (named !== undefined && named > retryLimits.longestMs) return undefined
  // A rate limiter names the end of its window.
  const isRate = failure instanceof BridgeError && failure.code === 'rate_limited'
  if (isRate) return named === undefined ? undefined : named + jitter * 100
  return Math.max(named ?? 0, backoff(attempt, retryLimits, jitter))
}
