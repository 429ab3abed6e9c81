/**
 * From readiness to the deadline, by a clock that does not jump; `expiresAt` tells the same instant by the calendar.
 *
 * Spec §3, "deadline reached: ttl elapsed".
 */
export interface Clock {
  readonly now: () => Date
  /** Milliseconds that only grow. */
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

  /** Calls `atEnd` once at the deadline; the returned function gives that up. */
  begin(atEnd: () => void): () => void {
    this.#endsAt = this.#clock.elapsed() + this.#ms
    this.#expiresAt = new Date(this.#clock.now().getTime() + this.#ms).toISOString()
    const timer = setTimeout(atEnd, this.#ms)
    return () => clearTimeout(timer)
  }

  /** ISO 8601, UTC. */
  get expiresAt(): string {
    return this.#expiresAt
  }

  get isOver(): boolean {
    return this.#clock.elapsed() >= this.#endsAt
  }
}
