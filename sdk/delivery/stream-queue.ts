/**
 * One open stream, whatever carries it: what it told and nobody has read yet, and whether it is alive.
 *
 * - opening: from the start; leaves when the node answers, on a failure, or after ten seconds.
 * - open: leaves when it ends, on a failure, or after two heartbeats and a half of silence.
 * - over: what had arrived is still handed out, unless the node refuses this session; then the iteration ends, or throws.
 *
 * What is unread is bounded: past that the carrier pauses, and the node's rule about slow readers applies. An empty page
 * stands for every twenty seconds without messages, as an empty poll does, so that a policy counts the same everywhere.
 *
 * Contract §6.
 */
import type { OfferedMessage } from '../contract/agent/messages.ts'
import type { Receipt } from '../contract/events.ts'
import { limits } from '../contract/limits.ts'
import { type Asked, BridgeError, LocalError } from '../transport/failures.ts'
import type { Attempt } from './attempt.ts'
import type { ReceivedPage } from './received.ts'

/** What a transport tells the listener: that it is open, or a page. */
export type StreamEvent = 'open' | ReceivedPage

/** The connection under a line. */
export interface Carrier {
  close(): void
  pause?(): void
  resume?(): void
}

const openingMs = 10_000
/** "No heartbeat within two of them" is a dead stream, or one that something between holds back. */
const silenceMs = limits.heartbeatSeconds * 2500
const quietMs = limits.inboxWaitSeconds * 1000
const fullAt = 8

export class StreamQueue {
  readonly asked: Asked
  readonly #attempt: Attempt
  readonly #startedMs: number
  readonly #over = new AbortController()
  readonly #unread: StreamEvent[] = []
  #heardMs: number
  #carrier: Carrier | undefined
  #failure: unknown
  #isPaused = false
  #wake: (() => void) | undefined
  #roomed: (() => void) | undefined

  constructor(attempt: Attempt, asked: Asked) {
    this.asked = asked
    this.#attempt = attempt
    this.#startedMs = this.#heardMs = attempt.options.monotonicMs()
    attempt.onPulse(() => this.#check())
    attempt.signal.addEventListener('abort', () => this.fail(attempt.signal.reason), { once: true })
    if (attempt.signal.aborted) this.fail(attempt.signal.reason)
  }

  /** Aborted when the line is over: what still opens it stops. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Which connection to end and to slow down; another one takes the place of the last. */
  carriedBy(carrier: Carrier): void {
    this.#carrier = carrier
    if (this.#over.signal.aborted) carrier.close()
  }

  /** The node answered and listens. */
  opened(): void {
    this.heard()
    this.#attempt.openedMs ??= this.#heardMs
    this.#tell('open')
  }

  /** Anything at all arrived. */
  heard(): void {
    this.#heardMs = this.#attempt.options.monotonicMs()
  }

  /** What the streams tell under the same names. A name of a newer node is left alone. */
  hear(type: string, data: Readonly<Record<string, unknown>>): void {
    if (this.#over.signal.aborted) return
    if (type === 'messages' && Array.isArray(data.messages) && data.messages.length > 0) {
      this.#messages(data.messages)
    }
    if (type === 'receipts' && Array.isArray(data.receipts)) this.#receipts(data.receipts)
  }

  /** It ended as it should. */
  end(): void {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    this.#carrier?.close()
    this.#wake?.()
    this.#roomed?.()
  }

  /** It broke, or the node ended it; the first reason counts. */
  fail(error: unknown): void {
    if (this.#over.signal.aborted) return
    this.#failure = error
    if (takesRest(error)) this.#unread.length = 0
    this.end()
  }

  /** Resolves when more may be read from the connection. */
  async room(): Promise<void> {
    while (this.#isPaused && !this.#over.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#roomed = resolve
      })
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void, undefined> {
    for (;;) {
      const next = this.#unread.shift()
      if (next !== undefined) {
        this.#resume()
        yield next
      } else if (this.#failure !== undefined) throw this.#failure
      else if (this.#over.signal.aborted) return
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        this.#wake = undefined
      }
    }
  }

  #messages(messages: OfferedMessage[]): void {
    this.#attempt.options.quiet.sinceMs = this.#attempt.options.monotonicMs()
    this.#tell({ messages, has_more: false, waiting: null })
  }

  /** Told at once, not when the reader asks for more: it may be waiting for exactly this. */
  #receipts(receipts: readonly Receipt[]): void {
    try {
      this.#attempt.options.onReceipts?.(receipts)
    } catch (error) {
      this.fail(error)
    }
  }

  #tell(heard: StreamEvent): void {
    if (this.#over.signal.aborted) return
    this.#unread.push(heard)
    this.#wake?.()
    if (this.#unread.length >= fullAt && !this.#isPaused) {
      this.#isPaused = true
      this.#carrier?.pause?.()
    }
  }

  #resume(): void {
    if (!this.#isPaused || this.#unread.length > fullAt / 2) return
    this.#isPaused = false
    // What was not read was not silence.
    this.heard()
    this.#carrier?.resume?.()
    this.#roomed?.()
  }

  #check(): void {
    const now = this.#attempt.options.monotonicMs()
    if (this.#attempt.options.leftMs() <= 0) this.end()
    else if (this.#isPaused) return
    else if (this.#attempt.openedMs === undefined) {
      if (now - this.#startedMs > openingMs) this.fail(this.#late(openingMs))
    } else if (now - this.#heardMs > silenceMs) this.fail(this.#late(silenceMs))
    // A reader that is busy is not without news.
    else if (this.#wake !== undefined && now - this.#attempt.options.quiet.sinceMs >= quietMs)
      this.#messages([])
  }

  #late(ms: number): LocalError {
    const { method, path } = this.asked
    return new LocalError('timeout', `${method} ${path}: nothing was heard for ${ms / 1000} seconds`)
  }
}

/** Whether nothing more may be handed out: nobody waits for it, or another session is to have it. */
const takesRest = (error: unknown): boolean =>
  error instanceof BridgeError ? error.status < 500 : error instanceof LocalError && error.code === 'aborted'

/** What a line tells while `open` holds it open; it is closed when the iteration ends, however that ends. */
export async function* overStream(
  attempt: Attempt,
  asked: Asked,
  open: (line: StreamQueue) => Promise<void>,
): AsyncGenerator<StreamEvent, void, undefined> {
  const line = new StreamQueue(attempt, asked)
  open(line).catch((error: unknown) => line.fail(error))
  try {
    yield* line
  } finally {
    line.end()
  }
}
