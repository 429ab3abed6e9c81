/**
 * Queue between one stream connection (socket or event stream) and the listener, with detection of a dead
 * connection.
 *
 * A queue has three states:
 * - Opening: it waits for the node's first answer. It fails after 10 seconds.
 * - Open: it queues events. It fails after 25 seconds without data, which is two and a half heartbeats.
 * - Ended: the iterator yields what is still queued (unless the node refused the session), then returns or
 *   throws.
 *
 * If 8 events are unread, the connection pauses, and the node's rule about slow readers applies. After every
 * 20 seconds without messages the queue adds an empty page, as a long-poll returns one, so that the idle
 * policy counts the same over every transport.
 *
 * Contract §6.
 */

import type { Receipt } from '../contract/agent/events.ts'
import type { OfferedMessage } from '../contract/agent/messages.ts'
import { limits } from '../contract/limits.ts'
import { BridgeError, LocalError, type RequestName } from '../transport/failures.ts'
import type { Attempt } from './attempt.ts'
import type { ReceivedPage } from './received.ts'

/** Event from a transport to the listener: the connection opened, or a page arrived. */
export type StreamEvent = 'open' | ReceivedPage

/** Connection that feeds a queue. */
export interface StreamConnection {
  close(): void
  pause?(): void
  resume?(): void
}

const openingMs = 10_000
/** "No heartbeat within two of them": the stream is dead, or a proxy holds it back. */
const silenceMs = limits.heartbeatSeconds * 2500
const quietMs = limits.inboxWaitSeconds * 1000
const pauseAtEvents = 8

export class StreamQueue {
  readonly request: RequestName
  readonly #attempt: Attempt
  readonly #startedMs: number
  readonly #ended = new AbortController()
  readonly #unread: StreamEvent[] = []
  #lastDataMs: number
  #connection: StreamConnection | undefined
  #failure: unknown
  #isPaused = false
  #wake: (() => void) | undefined
  #notifyRoom: (() => void) | undefined

  constructor(attempt: Attempt, request: RequestName) {
    this.request = request
    this.#attempt = attempt
    this.#startedMs = this.#lastDataMs = attempt.options.monotonicMs()
    attempt.onPulse(() => this.#check())
    attempt.signal.addEventListener('abort', () => this.fail(attempt.signal.reason), { once: true })
    if (attempt.signal.aborted) this.fail(attempt.signal.reason)
  }

  /** Aborted when the queue has ended, so that a connection which is still opening stops. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  /** Sets the connection to close and to pause. A later call replaces it. */
  useConnection(connection: StreamConnection): void {
    this.#connection = connection
    if (this.#ended.signal.aborted) connection.close()
  }

  /** Enters open: the node has answered. */
  opened(): void {
    this.markAlive()
    this.#attempt.openedMs ??= this.#lastDataMs
    this.#enqueue('open')
  }

  /** Records that data arrived, which restarts the silence timeout. */
  markAlive(): void {
    this.#lastDataMs = this.#attempt.options.monotonicMs()
  }

  /**
   * Takes an event that socket and event stream have in common. Unknown types, from a newer node, are
   * ignored.
   */
  accept(type: string, data: Readonly<Record<string, unknown>>): void {
    if (this.#ended.signal.aborted) return
    if (type === 'messages' && Array.isArray(data.messages) && data.messages.length > 0) {
      this.#messages(data.messages)
    }
    if (type === 'receipts' && Array.isArray(data.receipts)) this.#receipts(data.receipts)
  }

  /** Enters ended without a failure. */
  end(): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.#connection?.close()
    this.#wake?.()
    this.#notifyRoom?.()
  }

  /** Enters ended with a failure. Only the first one counts. */
  fail(error: unknown): void {
    if (this.#ended.signal.aborted) return
    this.#failure = error
    if (discardsQueue(error)) this.#unread.length = 0
    this.end()
  }

  /** Resolves when more may be read from the connection. */
  async room(): Promise<void> {
    while (this.#isPaused && !this.#ended.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#notifyRoom = resolve
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
      else if (this.#ended.signal.aborted) return
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
    this.#enqueue({ messages, has_more: false, waiting: null })
  }

  /**
   * Calls `onReceipts` immediately, not when the caller reads the next page: it may be waiting for this
   * receipt.
   */
  #receipts(receipts: readonly Receipt[]): void {
    try {
      this.#attempt.options.onReceipts?.(receipts)
    } catch (error) {
      this.fail(error)
    }
  }

  #enqueue(event: StreamEvent): void {
    if (this.#ended.signal.aborted) return
    this.#unread.push(event)
    this.#wake?.()
    if (this.#unread.length >= pauseAtEvents && !this.#isPaused) {
      this.#isPaused = true
      this.#connection?.pause?.()
    }
  }

  #resume(): void {
    if (!this.#isPaused || this.#unread.length > pauseAtEvents / 2) return
    this.#isPaused = false
    // The time during which reading was paused is not silence.
    this.markAlive()
    this.#connection?.resume?.()
    this.#notifyRoom?.()
  }

  #check(): void {
    const now = this.#attempt.options.monotonicMs()
    if (this.#attempt.options.leftMs() <= 0) this.end()
    else if (this.#isPaused) return
    else if (this.#attempt.openedMs === undefined) {
      if (now - this.#startedMs > openingMs) this.fail(this.#timedOut(openingMs))
    } else if (now - this.#lastDataMs > silenceMs) this.fail(this.#timedOut(silenceMs))
    // No empty page while the caller is busy with a page: only a waiting caller is without messages.
    else if (this.#wake !== undefined && now - this.#attempt.options.quiet.sinceMs >= quietMs)
      this.#messages([])
  }

  #timedOut(ms: number): LocalError {
    const { method, path } = this.request
    return new LocalError('timeout', `${method} ${path}: no data for ${ms / 1000} seconds`)
  }
}

/**
 * Whether a failure discards queued events: the caller has aborted, or the messages belong to another session
 * now.
 */
const discardsQueue = (error: unknown): boolean =>
  error instanceof BridgeError ? error.status < 500 : error instanceof LocalError && error.code === 'aborted'

/** Yields the events of a queue that `open` connects. The queue ends with the iteration. */
export async function* readStream(
  attempt: Attempt,
  request: RequestName,
  open: (queue: StreamQueue) => Promise<void>,
): AsyncGenerator<StreamEvent, void, undefined> {
  const queue = new StreamQueue(attempt, request)
  open(queue).catch((error: unknown) => queue.fail(error))
  try {
    yield* queue
  } finally {
    queue.end()
  }
}
