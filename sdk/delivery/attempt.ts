/**
 * One try at listening over one transport: what ends it, and the pulse that watches it.
 *
 * - It ends when the caller aborts, and when this machine slept: then wall clock and monotonic clock moved apart, and a
 *   connection from before is rarely alive, though nothing says so. A clock that was set looks the same, and costs no
 *   more than a new connection.
 * - Where the monotonic clock counts sleep, silence is what tells of it: see line.ts.
 */
import type { Receipt } from '../contract/events.ts'
import { LocalError } from '../transport/failures.ts'

export interface AttemptOptions {
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly signal: AbortSignal | undefined
  /** Milliseconds until listening ends by itself. */
  readonly leftMs: () => number
  readonly onReceipts: ((receipts: readonly Receipt[]) => void) | undefined
  /** Since when no page came; it goes on from one connection to the next. */
  readonly quiet: { sinceMs: number }
}

const pulseMs = 1000
const sleptMs = 5000

export class Attempt {
  readonly options: AttemptOptions
  /** When the transport opened; undefined as long as it did not. */
  openedMs: number | undefined
  toldPages = false
  readonly #over = new AbortController()
  readonly #checks: (() => void)[] = []
  readonly #giveUp = () => this.#over.abort(new LocalError('aborted', 'listening was given up by the caller'))
  #timer: NodeJS.Timeout | undefined
  #apartMs: number
  #beatMs: number
  #slept = false

  constructor(options: AttemptOptions) {
    this.options = options
    this.#apartMs = this.#clocksApartMs()
    this.#beatMs = options.monotonicMs()
    options.signal?.addEventListener('abort', this.#giveUp, { once: true })
    if (options.signal?.aborted) this.#giveUp()
    this.#beatLater()
  }

  /** Aborted when the attempt must end; the reason is the error to throw. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Whether it ended because this machine slept: to be opened again at once, and nobody's fault. */
  get slept(): boolean {
    return this.#slept
  }

  /** How long the transport was open. */
  get livedMs(): number {
    return this.openedMs === undefined ? 0 : this.options.monotonicMs() - this.openedMs
  }

  /** Called every second, and when the time is over. */
  onPulse(check: () => void): void {
    this.#checks.push(check)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.options.signal?.removeEventListener('abort', this.#giveUp)
  }

  #beatLater(): void {
    const ms = Math.max(1, Math.min(pulseMs, this.options.leftMs()))
    // It also keeps the process alive: what streams wait with does not.
    this.#timer = setTimeout(() => this.#beat(), ms)
  }

  #beat(): void {
    const before = { apartMs: this.#apartMs, beatMs: this.#beatMs }
    this.#apartMs = this.#clocksApartMs()
    this.#beatMs = this.options.monotonicMs()
    this.#beatLater()
    if (Math.abs(this.#apartMs - before.apartMs) <= sleptMs) {
      // This process was held up: what arrived meanwhile is read before anything is called silent.
      const isLate = this.#beatMs - before.beatMs > sleptMs
      if (!isLate) for (const check of this.#checks) check()
      return
    }
    this.#slept = true
    this.close()
    this.#over.abort(new LocalError('timeout', 'this machine slept, or its clock was set'))
  }

  #clocksApartMs(): number {
    return this.options.clock().getTime() - this.options.monotonicMs()
  }
}
