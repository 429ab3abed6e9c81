/**
 * One connection of a listener over one transport: its abort signal, and a check once per second.
 *
 * - It ends when the caller aborts, and when this machine was asleep. After a sleep, wall clock and monotonic
 *   clock have moved apart by more than 5 seconds, and the connection is usually dead without an error. A
 *   change of the wall clock looks the same; it costs one reconnect.
 * - On systems whose monotonic clock continues during sleep, the stream queue detects the dead connection by
 *   its silence. See stream-queue.ts.
 */
import type { Receipt } from '../contract/agent/events.ts'
import { LocalError } from '../transport/failures.ts'

export interface AttemptOptions {
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly signal: AbortSignal | undefined
  /** Returns the milliseconds until listening ends at `until`. */
  readonly leftMs: () => number
  readonly onReceipts: ((receipts: readonly Receipt[]) => void) | undefined
  /** Start of the time without pages. It is shared by all connections of one listener. */
  readonly quiet: { sinceMs: number }
}

const pulseMs = 1000
const sleptMs = 5000

export class Attempt {
  readonly options: AttemptOptions
  /** Monotonic time at which the attempt began. */
  readonly startedMs: number
  /** Monotonic time at which the transport opened; undefined before. */
  openedMs: number | undefined
  /** True once the connection delivered a page. */
  receivedPages = false
  readonly #ended = new AbortController()
  readonly #checks: (() => void)[] = []
  readonly #onAbort = () => this.#ended.abort(new LocalError('aborted', 'the caller stopped listening'))
  #timer: NodeJS.Timeout | undefined
  #apartMs: number
  #beatMs: number
  #slept = false

  constructor(options: AttemptOptions) {
    this.options = options
    this.#apartMs = this.#clocksApartMs()
    this.startedMs = this.#beatMs = options.monotonicMs()
    options.signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (options.signal?.aborted) this.#onAbort()
    this.#beatLater()
  }

  /** Aborted when the attempt must end. Its reason is the error to throw. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  /**
   * True if it ended because this machine slept. The listener then reconnects immediately and counts no
   * failure.
   */
  get slept(): boolean {
    return this.#slept
  }

  /** Milliseconds for which the transport has been open, 0 if it never opened. */
  get livedMs(): number {
    return this.openedMs === undefined ? 0 : this.options.monotonicMs() - this.openedMs
  }

  /** Registers a check that runs once per second, and when listening ends at `until`. */
  onPulse(check: () => void): void {
    this.#checks.push(check)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.options.signal?.removeEventListener('abort', this.#onAbort)
  }

  #beatLater(): void {
    const ms = Math.max(1, Math.min(pulseMs, this.options.leftMs()))
    // This timer also keeps the process alive. A stream's pending promise does not.
    this.#timer = setTimeout(() => this.#beat(), ms)
  }

  #beat(): void {
    const before = { apartMs: this.#apartMs, beatMs: this.#beatMs }
    this.#apartMs = this.#clocksApartMs()
    this.#beatMs = this.options.monotonicMs()
    this.#beatLater()
    if (Math.abs(this.#apartMs - before.apartMs) <= sleptMs) {
      // The event loop was blocked for more than 5 s. Data that arrived meanwhile is read before the silence checks run.
      const isLate = this.#beatMs - before.beatMs > sleptMs
      if (!isLate) for (const check of this.#checks) check()
      return
    }
    this.#slept = true
    this.close()
    this.#ended.abort(new LocalError('timeout', 'this machine was asleep, or its clock was changed'))
  }

  #clocksApartMs(): number {
    return this.options.clock().getTime() - this.options.monotonicMs()
  }
}
