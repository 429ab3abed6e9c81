/**
 * Listening: one async stream of inbox pages, over socket, event stream or long-poll.
 *
 *     Listener.pages()                 the loop: one connection after another
 *       ├─ TransportChoice.pick()      first transport in the order that is not barred     transport-choice.ts
 *       ├─ Attempt                     one connection: abort signal, one check per second  attempt.ts
 *       ├─ socketStream | eventStream  push frames into a StreamQueue                      socket.ts, event-stream.ts
 *       │    ├─ Streaming              session, signature, remedies for refusals           signed-stream.ts
 *       │    └─ StreamQueue            bounded queue of pages; detects a silent connection stream-queue.ts
 *       ├─ longPoll                    reads pages without a queue                         long-poll.ts
 *       ├─ CatchUp.pages()             after a broken connection, what it may have lost    catch-up.ts
 *       ├─ SeenOffers.take(page)       drops offers that the caller already got            seen-offers.ts
 *       ├─ IdlePolicy.isReached(page)  ends listening by the owner's policy                idle-policy.ts
 *       └─ judge(failure) → Verdict    after a failure: throw, retry, or bar the transport failure-verdict.ts
 *
 * - The order is socket, event stream, long-poll, limited to what the node offers. The listener changes the
 *   transport only between two connections, so that it cuts off no message in flight.
 * - Once the node has answered this Bridge, the listener survives outages: it reconnects with pauses of 0.5 to
 *   15 seconds. If the node has never answered, it throws, since the address may be wrong. With a stored session
 *   the first poll is the first request, and a node may die while it holds that poll. So a poll that was held
 *   for 2 seconds before its connection broke counts as an answer.
 * - It throws what only a person can fix: a fenced session, a revoked credential, a disabled agent, an
 *   archived project.
 * - After 10 `rate_limited` refusals in a row it throws the refusal: the node is reachable, and the limiter
 *   may hide another refusal.
 * - It ends by the owner's policy: after a time without messages, or after a number of empty pages.
 * - Reading never acknowledges. The node counts an offer when it has sent the bytes. If a stream pushed
 *   messages that the caller never took, the node offers them again only after the redelivery interval. A
 *   caller that wants one page therefore uses long-poll alone, which gets no more than it asks for.
 *
 * Contract §5 (policy), §6, §12 `listen`, §13.
 */
import { setTimeout as timer } from 'node:timers/promises'
import type { SessionKeeper } from '../agent/session.ts'
import { limits } from '../contract/limits.ts'
import type { BootstrapReader } from '../resources/bootstrap.ts'
import type { Inbox } from '../resources/inbox.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import { backoff, pauses } from '../transport/retry.ts'
import { neverConnected } from '../transport/temporary.ts'
import { Attempt } from './attempt.ts'
import { CatchUp } from './catch-up.ts'
import { eventStream } from './event-stream.ts'
import { judge } from './failure-verdict.ts'
import { IdlePolicy } from './idle-policy.ts'
import { longPoll } from './long-poll.ts'
import type { ListenOptions, ReceivedPage } from './received.ts'
import { type AcknowledgedIds, SeenOffers } from './seen-offers.ts'
import type { Streaming } from './signed-stream.ts'
import { socketStream } from './socket.ts'
import type { StreamEvent } from './stream-queue.ts'
import { type ListenTransport, listenTransports, TransportChoice } from './transport-choice.ts'

export interface Listening {
  readonly inbox: Inbox
  readonly bootstrap: BootstrapReader
  readonly streaming: Streaming
  readonly transports: readonly ListenTransport[] | undefined
  /** Source of the owner's policy. */
  readonly keeper: SessionKeeper
  readonly acknowledged: AcknowledgedIds
  /** Acknowledges messages once more, without a wait for the answer. */
  readonly acknowledgeAgain: (ids: readonly string[]) => void
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
}

/** A connection that lasted this long proves its transport, whatever broke it in the end. */
const steadyMs = 30_000
/**
 * A connection without pages that broke sooner counts as one more failure in a row. Otherwise a node that
 * accepts every connection and closes it would be called without growing pauses. Longer would keep an agent
 * waiting while nodes restart one after another.
 */
const settledMs = 2_000
/**
 * Failures in a row before the caller is notified. A connection that is replaced immediately is not reported.
 */
const failuresUntilReported = 2
const rateRefusalsUntilThrown = 10
/** A node holds a poll, and a wrong address closes the connection or answers at once. */
const heldMs = 2_000

export class Listener {
  readonly #listening: Listening
  readonly #options: ListenOptions
  readonly #idlePolicy: IdlePolicy
  readonly #seenOffers: SeenOffers
  readonly #catchUp: CatchUp
  readonly #quiet: { sinceMs: number }
  #transport: ListenTransport | undefined
  #wasHeld = false
  #failures = 0
  #rateRefusals = 0
  #isReportedUnreachable = false

  constructor(listening: Listening, options: ListenOptions) {
    this.#listening = listening
    this.#options = options
    this.#idlePolicy = new IdlePolicy(listening.keeper, listening.clock)
    this.#seenOffers = new SeenOffers(listening.acknowledged, listening.acknowledgeAgain)
    this.#catchUp = new CatchUp(listening.inbox)
    this.#quiet = { sinceMs: listening.monotonicMs() }
  }

  /**
   * Yields pages until `until` or the end by policy.
   *
   * @throws LocalError `aborted`, and the failures that the listener does not survive.
   */
  async *pages(): AsyncGenerator<ReceivedPage, void, undefined> {
    const order = await this.#allowedTransports()
    const choice = new TransportChoice(order, this.#listening.monotonicMs)
    while (this.#leftMs() > 0) {
      const transport = choice.pick()
      const attempt = this.#attempt()
      try {
        // A long-poll reports that it is open only with its first page, which may take 20 seconds.
        if (transport === 'long-poll') yield* this.#caughtUp(transport, attempt)
        for await (const event of this.#open(transport, attempt, choice)) {
          this.#rateRefusals = 0
          if (event === 'open') {
            this.#opened(transport)
            yield* this.#caughtUp(transport, attempt)
          } else {
            attempt.receivedPages = true
            yield* this.#handOver(event)
            if (await this.#idlePolicy.isReached(event)) return
          }
        }
        choice.proved(transport)
        this.#failures = 0
        if (transport === 'sse') await this.#pause(limits.streamRetryMs)
      } catch (error) {
        await this.#failed(error, transport, attempt, choice)
        // The time during which the node was unreachable does not count as time without messages.
        this.#quiet.sinceMs = this.#listening.monotonicMs()
      } finally {
        attempt.close()
      }
    }
  }

  /**
   * The allowed transports that the node offers. If it offers none of them, all allowed ones: the node's
   * refusal then gives the reason.
   */
  async #allowedTransports(): Promise<readonly ListenTransport[]> {
    const allowed = this.#options.transports ?? this.#listening.transports ?? listenTransports
    if (allowed.every((transport) => transport === 'long-poll')) return allowed
    const { capabilities } = await this.#listening.bootstrap.get({ signal: this.#options.signal })
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
    const shouldContinue = () => choice.pick() === 'long-poll'
    return longPoll(inbox, attempt, { limit: this.#options.limit, shouldContinue })
  }

  #opened(transport: ListenTransport): void {
    if (this.#isReportedUnreachable) this.#options.onConnection?.(undefined)
    this.#isReportedUnreachable = false
    if (this.#transport !== transport) this.#options.onTransport?.(transport)
    this.#transport = transport
  }

  async *#caughtUp(
    transport: ListenTransport,
    attempt: Attempt,
  ): AsyncGenerator<ReceivedPage, void, undefined> {
    for await (const page of this.#catchUp.pages(attempt.signal)) {
      // A poll that is open for seconds and then breaks is no further failure in a row.
      attempt.openedMs ??= this.#listening.monotonicMs()
      this.#opened(transport)
      if (page.messages.length === 0) continue
      yield* this.#handOver(page)
      await this.#idlePolicy.isReached(page)
    }
  }

  /**
   * Yields the page in chunks of `limit` messages, without those that were yielded before. A page that was
   * not empty but becomes so is dropped.
   */
  *#handOver(page: ReceivedPage): Generator<ReceivedPage, void, undefined> {
    if (page.messages.length === 0) yield page
    const { limit = page.messages.length } = this.#options
    for (let from = 0; from < page.messages.length; from += limit) {
      const messages = this.#seenOffers.take(page.messages.slice(from, from + limit))
      this.#catchUp.got(messages)
      const has_more = page.has_more || from + limit < page.messages.length
      if (messages.length > 0) yield { ...page, messages, has_more }
    }
    this.#quiet.sinceMs = this.#listening.monotonicMs()
  }

  /**
   * Updates the choice of transports, and pauses before a retry on the same one.
   *
   * @throws a failure that a retry cannot help.
   */
  async #failed(
    error: unknown,
    transport: ListenTransport,
    attempt: Attempt,
    choice: TransportChoice,
  ): Promise<void> {
    // A fetch may reject with an error of its own when its signal is aborted. The reason tells of the sleep.
    this.#catchUp.failed(attempt.slept ? attempt.signal.reason : error)
    if (attempt.slept) return
    if (attempt.signal.aborted) throw attempt.signal.reason
    // Another request of this Bridge may know by now that there is no session. The next attempt would start one.
    if (await this.#listening.keeper.wasClosedHere(error)) throw error
    const wasOpen = attempt.openedMs !== undefined
    const verdict = judge(error, transport, wasOpen)
    this.#wasHeld ||= this.#heldPoll(error, attempt)
    if (verdict === 'final' || !this.#wasReached || !(error instanceof Error)) throw error
    const isRate = error instanceof BridgeError && error.code === 'rate_limited'
    this.#rateRefusals = isRate ? this.#rateRefusals + 1 : 0
    if (this.#rateRefusals >= rateRefusalsUntilThrown) throw error
    const wasSteady = attempt.livedMs >= steadyMs
    if (wasSteady) choice.proved(transport)
    else if (verdict === 'suspect') choice.suspect(transport)
    else if (verdict === 'barred') choice.bar(transport)
    if (choice.isExhausted && this.#transport === undefined) throw error
    const didWork = attempt.receivedPages || attempt.livedMs >= settledMs
    this.#failures = didWork ? 1 : this.#failures + 1
    if (choice.pick() !== transport) return
    this.#reportUnreachable(error)
    await this.#pause(this.#pauseMs(error))
  }

  /** Whether there is a node at the address, as far as this listener knows. */
  get #wasReached(): boolean {
    return this.#wasHeld || this.#listening.streaming.wasAnswered
  }

  /** Whether the node of the stored session held a poll until its connection broke. */
  #heldPoll(error: unknown, attempt: Attempt): boolean {
    const { keeper, monotonicMs } = this.#listening
    if (keeper.sessionId === undefined || monotonicMs() - attempt.startedMs < heldMs) return false
    return error instanceof LocalError && error.code === 'unreachable' && !neverConnected(error)
  }

  #reportUnreachable(error: Error): void {
    if (this.#isReportedUnreachable || this.#failures < failuresUntilReported) return
    this.#isReportedUnreachable = true
    this.#options.onConnection?.(error)
  }

  #pauseMs(error: Error): number {
    const jitter = this.#listening.random(4).readUInt32BE() / 2 ** 32
    const named = error instanceof BridgeError ? (error.retryAfterMs ?? 0) : 0
    return Math.max(named, backoff(this.#failures, pauses.listen, jitter))
  }

  async #pause(ms: number): Promise<void> {
    const { sleep } = this.#listening
    const { signal } = this.#options
    const bounded = Math.max(0, Math.min(ms, this.#leftMs()))
    try {
      if (sleep !== undefined) await sleep(bounded, signal)
      else await timer(bounded, undefined, signal === undefined ? {} : { signal })
    } catch (cause) {
      throw new LocalError('aborted', 'the caller stopped listening', { cause })
    }
  }

  #leftMs(): number {
    const { until } = this.#options
    return (until?.getTime() ?? Number.POSITIVE_INFINITY) - this.#listening.clock().getTime()
  }
}
