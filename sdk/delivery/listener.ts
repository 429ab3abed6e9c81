/**
 * Hearing about new messages: one stream of pages, whichever way they come.
 *
 * - Socket, then event stream, then long-poll, of those that the node offers. One that does not get through is left for
 *   the next, and tried again later; see choice.ts. Transports change between two connections, never in the middle of
 *   one, so that nothing on its way is cut off.
 * - Once heard, the node may go away and come back: the listener opens again, with growing pauses up to 15 seconds.
 *   A node that was never heard is an error, since its address may be wrong.
 * - What only a person can mend is thrown: a fenced session, a revoked credential, a disabled agent, an archived project.
 * - A node that answers nothing but `rate_limited` is no node that is away, and what it refuses behind that is not heard:
 *   after ten in a row the refusal is thrown.
 * - It ends by itself when the owner's policy says so: so long without a message, or so many empty pages.
 * - Reading never acknowledges. An offer counts once its bytes left the node: what a stream had pushed to a reader that
 *   went away comes again after the redelivery interval. So who takes one page and goes uses long-poll alone, which is
 *   given no more than it takes.
 *
 * Contract §5 (policy), §6, §12 `listen`, §13.
 */
import { setTimeout as timer } from 'node:timers/promises'
import type { SessionKeeper } from '../agent/session.ts'
import { limits } from '../contract/limits.ts'
import type { BootstrapReader } from '../resources/bootstrap.ts'
import type { Inbox } from '../resources/inbox.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import { backoff } from '../transport/retry.ts'
import { Attempt } from './attempt.ts'
import { type ListenTransport, listenTransports, TransportChoice } from './choice.ts'
import { eventStream } from './event-stream.ts'
import { IdlePolicy } from './idle-policy.ts'
import { longPoll } from './long-poll.ts'
import type { ListenOptions, ReceivedPage } from './received.ts'
import { type AcknowledgedIds, SeenOffers } from './seen-offers.ts'
import { socketStream } from './socket.ts'
import type { StreamEvent } from './stream-queue.ts'
import type { Streaming } from './streaming.ts'
import { judge } from './verdict.ts'

export interface Listening {
  readonly inbox: Inbox
  readonly bootstrap: BootstrapReader
  readonly streaming: Streaming
  readonly transports: readonly ListenTransport[] | undefined
  /** Knows the owner's policy. */
  readonly keeper: SessionKeeper
  readonly acknowledged: AcknowledgedIds
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
}

const pauses = { firstMs: 500, longestMs: 15_000 } as const
/** A connection that lasted so long was a good one: what broke it later is another matter. */
const steadyMs = 30_000
/** One that told nothing and broke sooner does not end a row of failures: a node that takes everybody and cuts them off. */
const settledMs = 5_000
/** Failures in a row before the caller hears that the node is away: a connection that is replaced at once is no news. */
const failuresUntilTold = 2
const rateRefusalsUntilThrown = 10

export class Listener {
  readonly #listening: Listening
  readonly #options: ListenOptions
  readonly #patience: IdlePolicy
  readonly #handedOver: SeenOffers
  readonly #quiet: { sinceMs: number }
  #transport: ListenTransport | undefined
  #isHeard = false
  #failures = 0
  #rateRefusals = 0
  #isToldAway = false

  constructor(listening: Listening, options: ListenOptions) {
    this.#listening = listening
    this.#options = options
    this.#patience = new IdlePolicy(listening.keeper, listening.clock)
    this.#handedOver = new SeenOffers(listening.acknowledged)
    this.#quiet = { sinceMs: listening.monotonicMs() }
  }

  /** Every page until `until`, the policy's end, or the abort, which throws. */
  async *pages(): AsyncGenerator<ReceivedPage, void, undefined> {
    const order = await this.#usable()
    const choice = new TransportChoice(order, this.#listening.monotonicMs)
    while (this.#leftMs() > 0) {
      const transport = choice.pick()
      const attempt = this.#attempt()
      try {
        for await (const heard of this.#open(transport, attempt, choice)) {
          this.#rateRefusals = 0
          if (heard === 'open') this.#opened(transport)
          else {
            attempt.toldPages = true
            yield* this.#handOver(heard)
            this.#quiet.sinceMs = this.#listening.monotonicMs()
            if (await this.#patience.isReached(heard)) return
          }
        }
        choice.proved(transport)
        this.#failures = 0
        if (transport === 'sse') await this.#pause(limits.streamRetryMs)
      } catch (error) {
        await this.#failed(error, transport, attempt, choice)
        // To wait for a node that is away is not to be without news from it.
        this.#quiet.sinceMs = this.#listening.monotonicMs()
      } finally {
        attempt.close()
      }
    }
  }

  /** What the node offers of what is allowed; what is allowed when it offers none of it, so that it says why. */
  async #usable(): Promise<readonly ListenTransport[]> {
    const allowed = this.#options.transports ?? this.#listening.transports ?? listenTransports
    if (allowed.every((transport) => transport === 'long-poll')) return allowed
    const { capabilities } = await this.#listening.bootstrap.get({ signal: this.#options.signal })
    this.#isHeard = true
    const { inbox, sse, socket } = capabilities
    const offers: Record<ListenTransport, boolean> = { socket, sse, 'long-poll': inbox }
    const usable = allowed.filter((transport) => offers[transport])
    return usable.length > 0 ? usable : allowed
  }

  #attempt(): Attempt {
    const { clock, monotonicMs } = this.#listening
    const { signal, onReceipts } = this.#options
    const leftMs = () => this.#leftMs()
    return new Attempt({ clock, monotonicMs, signal, onReceipts, leftMs, quiet: this.#quiet })
  }

  #open(
    transport: ListenTransport,
    attempt: Attempt,
    choice: TransportChoice,
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const { inbox, streaming } = this.#listening
    if (transport === 'socket') return socketStream(streaming, attempt)
    if (transport === 'sse') return eventStream(streaming, attempt)
    const goesOn = () => choice.pick() === 'long-poll'
    return longPoll(inbox, attempt, { limit: this.#options.limit, goesOn })
  }

  #opened(transport: ListenTransport): void {
    this.#isHeard = true
    if (this.#isToldAway) this.#options.onConnection?.(undefined)
    this.#isToldAway = false
    if (this.#transport !== transport) this.#options.onTransport?.(transport)
    this.#transport = transport
  }

  /** A page less what was handed over before; one that holds nothing else is no page. */
  *#handOver(page: ReceivedPage): Generator<ReceivedPage, void, undefined> {
    if (page.messages.length === 0) yield page
    const { limit = page.messages.length } = this.#options
    for (let from = 0; from < page.messages.length; from += limit) {
      const messages = this.#handedOver.take(page.messages.slice(from, from + limit))
      const has_more = page.has_more || from + limit < page.messages.length
      if (messages.length > 0) yield { ...page, messages, has_more }
    }
  }

  /** Decide, and wait where that helps. @throws what nothing here mends. */
  async #failed(
    error: unknown,
    transport: ListenTransport,
    attempt: Attempt,
    choice: TransportChoice,
  ): Promise<void> {
    if (attempt.slept) return
    if (attempt.signal.aborted) throw attempt.signal.reason
    const wasOpen = attempt.openedMs !== undefined
    const verdict = judge(error, transport, wasOpen)
    if (verdict === 'final' || !this.#isHeard || !(error instanceof Error)) throw error
    const isRate = error instanceof BridgeError && error.code === 'rate_limited'
    this.#rateRefusals = isRate ? this.#rateRefusals + 1 : 0
    if (this.#rateRefusals >= rateRefusalsUntilThrown) throw error
    const wasSteady = attempt.livedMs >= steadyMs
    if (wasSteady) choice.proved(transport)
    else if (verdict === 'suspect') choice.suspect(transport)
    else if (verdict === 'barred') choice.bar(transport)
    if (choice.isExhausted && this.#transport === undefined) throw error
    const didWork = attempt.toldPages || attempt.livedMs >= settledMs
    this.#failures = didWork ? 1 : this.#failures + 1
    if (choice.pick() !== transport) return
    this.#tellAway(error)
    await this.#pause(this.#pauseMs(error))
  }

  #tellAway(error: Error): void {
    if (this.#isToldAway || this.#failures < failuresUntilTold) return
    this.#isToldAway = true
    this.#options.onConnection?.(error)
  }

  #pauseMs(error: Error): number {
    const jitter = this.#listening.random(4).readUInt32BE() / 2 ** 32
    const named = error instanceof BridgeError ? (error.retryAfterMs ?? 0) : 0
    return Math.max(named, backoff(this.#failures, pauses, jitter))
  }

  async #pause(ms: number): Promise<void> {
    const { sleep } = this.#listening
    const { signal } = this.#options
    const bounded = Math.max(0, Math.min(ms, this.#leftMs()))
    try {
      if (sleep !== undefined) await sleep(bounded, signal)
      else await timer(bounded, undefined, signal === undefined ? {} : { signal })
    } catch (cause) {
      throw new LocalError('aborted', 'listening was given up by the caller', { cause })
    }
  }

  #leftMs(): number {
    const { until } = this.#options
    return (until?.getTime() ?? Number.POSITIVE_INFINITY) - this.#listening.clock().getTime()
  }
}
