/**
 * So many at a time, the others in the order in which they came.
 *
 * Disks do what takes them long one after the other anyway. Where every transfer asks at once, a commit of the database
 * waits behind all of them; and each that waits inside the system holds one of the pool's four threads.
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

/** Of this process, whichever transfer they belong to. */
export const syncLimiter = new Limiter(1)
