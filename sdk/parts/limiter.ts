/**
 * Limiter: at most `most` actions run at a time, the others wait in order of arrival.
 *
 * A disk runs long operations one after the other anyway. If all transfers synced at once, a database commit
 * would wait behind all of them, and each waiting sync would hold one of the four threads of the pool.
 */
export class Limiter {
  readonly #most: number
  #under = 0
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#most = most
  }

  async take<T>(act: () => Promise<T>): Promise<T> {
    if (this.#under >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#under += 1
    try {
      return await act()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#under -= 1
      else next()
    }
  }
}

/** Limiter of all syncs of this process, for all transfers: one at a time. */
export const syncLimiter = new Limiter(1)
