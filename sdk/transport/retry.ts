/**
 * When to try again, and how long to wait: one pure policy.
 *
 * Contract §2 ("a 503 means unknown: retry with the same key"), §13.
 */
import { BridgeError, LocalError } from './failures.ts'

export interface Attempted {
  /** 1 for the first. */
  readonly attempt: number
  /** The method is GET, or the request carries an Idempotency-Key, or it is idempotent by nature. */
  readonly repeatable: boolean
  readonly failure: unknown
  /** 0 ≤ jitter < 1. */
  readonly jitter: number
}

export const retryLimits = { attempts: 4, firstDelayMs: 200, longestDelayMs: 10_000 } as const

/** Milliseconds to wait before the next attempt, or undefined: give up and tell the caller. */
export function retryDelay({ attempt, repeatable, failure, jitter }: Attempted): number | undefined {
  if (attempt >= retryLimits.attempts) return undefined
  if (failure instanceof BridgeError) return refusalDelay(failure, attempt, repeatable, jitter)
  // Nothing tells whether the request took effect, so only a repeatable one may go again.
  if (failure instanceof LocalError && failure.code === 'unreachable' && repeatable) {
    return backoff(attempt, jitter)
  }
  // A timeout already took its whole time; an abort, a wrong server or a redirect does not mend itself.
  return undefined
}

function refusalDelay(failure: BridgeError, attempt: number, repeatable: boolean, jitter: number) {
  const named = failure.retryAfterMs
  // The caller decides about long waits: only it knows what else it has to do.
  if (named !== undefined && named > retryLimits.longestDelayMs) return undefined
  // A rate refusal did nothing, so any request may go again, but only after the delay that the service names.
  if (failure.code === 'rate_limited') return named === undefined ? undefined : named + jitter * 100
  // "A 503 means unknown: retry with the same key."
  if (failure.status === 503 && repeatable) return Math.max(named ?? 0, backoff(attempt, jitter))
  return undefined
}

/** Doubles with each attempt; between half and the whole of it, so that clients do not return in step. */
const backoff = (attempt: number, jitter: number): number =>
  Math.min(retryLimits.longestDelayMs, retryLimits.firstDelayMs * 2 ** (attempt - 1)) * (0.5 + jitter / 2)
