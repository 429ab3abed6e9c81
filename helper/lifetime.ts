/**
 * Lifetime of the helper, from readiness to the deadline, measured by a monotonic clock. `expiresAt` is the
 * deadline as calendar time.
 *
 * Spec §3, "deadline reached: ttl elapsed".
 */
export interface Clock {
  readonly now: () => Date
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number
}

export class Lifetime {
  readonly #clock: Clock
  readonly #ms: number
  #endsAt = Number.POSITIVE_INFINITY
  #expiresAt = ''

  constructor(clock: Clock, seconds: number) {
    this.#clock = clock
    this.#ms = seconds * 1000
  }

  /** Starts the lifetime. Calls `atEnd` once at the deadline; the returned function cancels that. */
  begin(atEnd: () => void): () => void {
    this.#endsAt = this.#clock.elapsed() + this.#ms
    this.#expiresAt = new Date(this.#clock.now().getTime() + this.#ms).toISOString()
    const timer = setTimeout(atEnd, this.#ms)
    return () => clearTimeout(timer)
  }

  /** Deadline in ISO 8601, UTC. */
  get expiresAt(): string {
    return this.#expiresAt
  }

  get isOver(): boolean {
    return this.#clock.elapsed() >= this.#endsAt
  }
}
