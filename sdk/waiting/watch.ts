/**
 * One wait at the node for all waits of a Bridge: for answers, and for ends of tasks.
 *
 * - It runs from the first waiter to the last, and reads the list of the inbox with a wait. The list offers
 *   nothing, so every listener of the identity still gets every message, in this process or another one.
 * - A waiter reads its result from the node when it begins, when a message may concern it, when the list is
 *   empty, and after the node was unreachable. So it finds a result that was stored before, or that another
 *   process acknowledged.
 * - A session has two waits. While both are taken, the waiters read once a second. An abandoned wait stays
 *   open for 100 ms, so that the next waiter uses it: the node counts a closed one for a moment.
 * - A busy inbox causes at most 20 lists a second. After an idle time the next message is read immediately.
 *
 * Contract §6, §13.
 */
import { setTimeout as timer } from 'node:timers/promises'
import type { NodeClock } from '../agent/node-clock.ts'
import type { Message } from '../contract/agent/messages.ts'
import { limits } from '../contract/limits.ts'
import type { Inbox } from '../resources/inbox.ts'
import { BridgeError, isOutcomeUnknown, LocalError } from '../transport/failures.ts'
import { backoff, pauses } from '../transport/retry.ts'
import { isTemporary } from '../transport/temporary.ts'
import { type Awaited, Waiter } from './waiter.ts'

/** A waiter of any result. */
type Waiting = Pick<Waiter<unknown>, 'isDue' | 'isOver' | 'takes' | 'look' | 'connected' | 'fail'>

export interface WatchOptions {
  readonly inbox: Inbox
  readonly nodeClock: NodeClock
  readonly monotonicMs: () => number
  /** Aborted when the Bridge is closed. */
  readonly closing: AbortSignal
}

export interface WaitOptions {
  /** Milliseconds. `Infinity` for no timeout. */
  readonly timeout: number
  readonly signal?: AbortSignal | undefined
  readonly onConnection?: ((away: Error | undefined) => void) | undefined
}

const paceMs = 50
const lingerMs = 100
const slotsTakenMs = 1000
/** How long a first look that is in flight at the deadline may still take. */
const lastLookMs = 2000
/** The longest timer that the platform has: 24 days. */
const longestTimerMs = 2 ** 31 - 1
/** The node accepts proofs up to 30 s ahead of its clock, so a minute ago is the past on both clocks. */
const pastMs = 60_000

export class Watch {
  readonly #options: WatchOptions
  readonly #waiters = new Set<Waiting>()
  #idle = new AbortController()
  #kick = new AbortController()
  #isRunning = false
  /** The last message that was seen. */
  #after = ''
  #lastFailure: Error | undefined

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** Why the node could not be reached the last time, undefined if it could. */
  get lastFailure(): Error | undefined {
    return this.#lastFailure
  }

  /**
   * The result, or undefined at the timeout. @throws LocalError `aborted`, and a failure that waiting does
   * not resolve
   */
  async wait<T>(awaited: Awaited<T>, { timeout, signal, onConnection }: WaitOptions): Promise<T | undefined> {
    const { closing } = this.#options
    const given = signal === undefined ? closing : AbortSignal.any([closing, signal])
    const over = new AbortController()
    const waiter = new Waiter(awaited, onConnection)
    this.#waiters.add(waiter)
    try {
      const first = waiter.look().catch(() => this.#kick.abort())
      this.#begin()
      const result = await Promise.race([
        waiter.result,
        aborted(given, over.signal),
        expired({ timeout, first, signal: over.signal }),
      ])
      if (result !== undefined) await awaited.finish?.(result)
      return result
    } finally {
      over.abort()
      this.#waiters.delete(waiter)
      waiter.leave()
      if (this.#waiters.size === 0) setTimeout(() => this.#endIfIdle(), lingerMs)
    }
  }

  /** The messages without the results of waiters, which no listener gets. */
  withoutResults<M extends Message>(messages: readonly M[]): readonly M[] {
    if (this.#waiters.size === 0) return messages
    return messages.filter((message) => !this.#take(message))
  }

  #take(message: Message): boolean {
    const taken = [...this.#waiters].map((waiter) => waiter.takes(message))
    return taken.includes(true)
  }

  #begin(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#idle = new AbortController()
    void this.#run(AbortSignal.any([this.#options.closing, this.#idle.signal]))
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#isRunning = false
        if (this.#isAnyOpen) this.#begin()
      })
  }

  #endIfIdle(): void {
    if (this.#waiters.size === 0) this.#idle.abort()
  }

  /** Until the last waiter has left. */
  async #run(idle: AbortSignal): Promise<void> {
    const { inbox, monotonicMs, nodeClock } = this.#options
    const past = idBefore(new Date((await nodeClock.now()).getTime() - pastMs))
    if (this.#after < past) this.#after = past
    for (let failures = 0; !idle.aborted && this.#isAnyOpen; ) {
      const startedMs = monotonicMs()
      this.#kick = new AbortController()
      const signal = AbortSignal.any([idle, this.#kick.signal])
      try {
        await this.#lookWhereDue()
        const waitSeconds = limits.inboxWaitSeconds
        const options = { after: this.#after, limit: limits.pageMax, waitSeconds, signal }
        const page = await inbox.list(options)
        this.#after = page.next_after ?? this.#after
        failures = 0
        this.#connected(undefined)
        for (const message of page.messages) this.#take(message)
        if (page.messages.length === 0) this.#makeDue()
        await this.#lookWhereDue()
        if (this.#isAnyOpen) await pause(startedMs + paceMs - monotonicMs(), idle)
      } catch (error) {
        if (idle.aborted) return
        if (this.#kick.signal.aborted) continue
        if (!isTemporary(error, 'reading')) return this.#fail(error)
        failures += 1
        this.#makeDue()
        if (isOutcomeUnknown(error)) this.#connected(error)
        await pause(pauseMs(error, failures), idle)
      }
    }
  }

  get #isAnyOpen(): boolean {
    return [...this.#waiters].some(({ isOver }) => !isOver)
  }

  async #lookWhereDue(): Promise<void> {
    const due = [...this.#waiters].filter(({ isDue }) => isDue)
    await Promise.all(due.map((waiter) => waiter.look()))
  }

  #makeDue(): void {
    for (const waiter of this.#waiters) waiter.isDue = true
  }

  #connected(away: Error | undefined): void {
    this.#lastFailure = away
    for (const waiter of this.#waiters) waiter.connected(away)
  }

  #fail(error: unknown): void {
    for (const waiter of this.#waiters) waiter.fail(error)
    this.#waiters.clear()
  }
}

function pauseMs(error: Error, failures: number): number {
  if (error instanceof BridgeError && error.status === 429) return error.retryAfterMs ?? slotsTakenMs
  return backoff(failures, pauses.wait)
}

/** Resolves early if the signal is aborted. */
const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  if (ms > 0) await timer(ms, undefined, { signal }).catch(() => {})
}

/** Rejects when `signal` is aborted. `over` removes the listener. */
function aborted(signal: AbortSignal, over: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = () => reject(new LocalError('aborted', 'the wait was given up by the caller'))
    if (signal.aborted) return give()
    signal.addEventListener('abort', give, { once: true })
    over.addEventListener('abort', () => signal.removeEventListener('abort', give), { once: true })
  })
}

interface Expiry {
  readonly timeout: number
  readonly first: Promise<unknown>
  readonly signal: AbortSignal
}

/** Whether a wait of so many milliseconds has no end. */
export const isEndless = (timeout: number): boolean => timeout > longestTimerMs

async function expired({ timeout, first, signal }: Expiry): Promise<undefined> {
  if (isEndless(timeout)) return new Promise(() => {})
  await pause(timeout, signal)
  await Promise.race([first, pause(lastLookMs, signal)])
  return undefined
}

/** An id that sorts before every id made since. */
function idBefore(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}
