/**
 * Retry policy for moving bytes, in both directions.
 *
 * - `transfer_busy` is retried until the offer expires.
 * - A broken connection, a body that moved too slowly, and a temporary failure of a disk, of the node or of
 *   the helper are retried for 16 s of pauses, and at least 6 times, for each request.
 * - Every other failure is thrown immediately.
 *
 * Spec §7.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { BridgeError, HelperError, LocalError } from '../../transport/failures.ts'
import { backoff, pauses } from '../../transport/retry.ts'
import { isTemporary } from '../../transport/temporary.ts'

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined
  /** Expiry of the offer or of the endpoint. No attempt begins later. */
  readonly expiresAt?: Date | undefined
  readonly clock?: (() => Date) | undefined
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
}

const brokenTries = 6
const brokenMs = 16_000

const sleepFor = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
  await pause(ms, undefined, { signal })
}

export class PartRetry {
  readonly #options: RetryOptions
  #busy = 0
  #broken = 0
  #brokenMs = 0

  constructor(options: RetryOptions) {
    this.#options = options
  }

  /**
   * Waits before the next attempt.
   *
   * @throws the given error if it must not be retried; LocalError `transfer_expired`, `aborted`
   */
  async afterFailure(error: unknown): Promise<void> {
    const ms = this.#delay(error)
    if (ms === undefined) throw error
    const { expiresAt, clock = () => new Date(), signal, sleep = sleepFor } = this.#options
    if (expiresAt !== undefined && clock().getTime() + ms >= expiresAt.getTime()) {
      throw new LocalError('transfer_expired', 'the lifetime ended before the transfer did', { cause: error })
    }
    try {
      await sleep(ms, signal)
    } catch (cause) {
      throw signal?.aborted === true ? new LocalError('aborted', 'given up by the caller', { cause }) : cause
    }
  }

  #delay(error: unknown): number | undefined {
    const isRefusal = error instanceof HelperError || error instanceof BridgeError
    if (isRefusal && error.code === 'transfer_busy') {
      this.#busy += 1
      return backoff(this.#busy, pauses.partBusy)
    }
    const isOver = this.#broken >= brokenTries && this.#brokenMs >= brokenMs
    if (isOver || !isTemporary(error, 'part')) return undefined
    this.#broken += 1
    const asked = error instanceof BridgeError ? (error.retryAfterMs ?? 0) : 0
    const ms = Math.max(asked, backoff(this.#broken, pauses.partBroken))
    this.#brokenMs += ms
    return ms
  }
}
