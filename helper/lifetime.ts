/**
 * Lifetime of the helper, from readiness to the deadline, in elapsed time. `expiresAt` is the deadline as
 * calendar time.
 *
 * The sleep of the machine counts, but a timer stands still meanwhile. So the helper compares the elapsed time
 * with the deadline every second.
 *
 * Spec §3, "deadline reached: ttl elapsed".
 */
export interface Clock {
  readonly now: () => Date
  /** Elapsed milliseconds, the sleep of the machine included. */
  readonly elapsed: () => number
}

const usualLookMs = 1000

export class Lifetime {
  readonly #clock: Clock
  readonly #ms: number
  readonly #lookMs: number
  #endsAt = Number.POSITIVE_INFINITY
  #expiresAt = ''

  constructor(clock: Clock, seconds: number, lookMs = usualLookMs) {
    this.#clock = clock
    this.#ms = seconds * 1000
    this.#lookMs = lookMs
  }

  /** Starts the lifetime. Calls `atEnd` once at the deadline; the returned function cancels that. */
  begin(atEnd: () => void): () => void {
    this.#endsAt = this.#clock.elapsed() + this.#ms
    this.#expiresAt = new Date(this.#clock.now().getTime() + this.#ms).toISOString()
    let timer: NodeJS.Timeout
    const wait = () => {
      timer = setTimeout(look, Math.min(this.#lookMs, this.#endsAt - this.#clock.elapsed()))
    }
    const look = () => (this.isOver ? atEnd() : wait())
    wait()
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
