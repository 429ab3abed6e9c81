/** Limit for the time that is spent waiting for the object store: it must move at least 64 KiB in 10 s. */
import { type Pace, usualPace } from '../../../sdk/parts/receive.ts'
import { StoreStalledError } from './failure.ts'

export interface StallLimitOptions {
  /** Monotonic milliseconds of the process. */
  readonly processMs: () => number
  readonly pace?: Pace | undefined
}

export class StallLimit {
  readonly #processMs: () => number
  readonly #pace: Pace
  #waitedMs = 0
  #bytes = 0

  constructor({ processMs, pace = usualPace }: StallLimitOptions) {
    this.#processMs = processMs
    this.#pace = pace
  }

  /** Waits for the store. Time spent elsewhere does not count. @throws StoreStalledError */
  async wait<T>(step: Promise<T>): Promise<T> {
    const since = this.#processMs()
    const { promise: stalled, reject } = Promise.withResolvers<never>()
    const leftMs = Math.max(0, this.#pace.progressMs - this.#waitedMs)
    const timer = setTimeout(() => reject(new StoreStalledError()), leftMs)
    try {
      return await Promise.race([step, stalled])
    } catch (error) {
      // The step may fail later, when its connection is closed.
      step.catch(() => {})
      throw error
    } finally {
      clearTimeout(timer)
      this.#waitedMs += this.#processMs() - since
    }
  }

  /** Counts bytes that moved. */
  moved(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < this.#pace.progressBytes) return
    this.#bytes = 0
    this.#waitedMs = 0
  }
}
