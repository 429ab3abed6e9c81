/**
 * Opens the connections of a node. Its callers share their tries: one tries at a time, and what it learns of an
 * outage holds for the others, and for a moment afterwards. A server that recovers starts a process for each try,
 * which delays the recovery.
 *
 * A request waits for a database that cannot be reached, but only in the first 1.5 seconds of the outage. So a crash
 * or a failover that ends by then refuses no new request, and a longer one fills no queue. If one process of a server
 * with a synchronous standby crashes, the server accepts connections again after about a second.
 *
 * Then all nodes connect at the same time. Connections that few requests wait for are opened half a second later.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnreachableError } from './connection.ts'

const waitsForMs = 1500
/** How long a failed try holds. */
const usualHoldsMs = 150
/** A lost packet delays a try by a second, and other callers by no more than this. */
const usualOthersWaitMs = 500
/** For so long after an outage only requests connect, and the channel to other nodes. */
const usualRequestsFirstMs = 500

interface Opened<T> {
  readonly value: T
}

/** The timer of the process. A test may replace the global one, and a failure would then never end. */
const { setTimeout: startTimer } = globalThis

/** How a try ended. Callers that have waited for it share an outage, and no other fault. */
type Ending = 'opened' | 'failed' | DatabaseUnreachableError

export interface OpeningTimes {
  readonly holdsMs?: number
  readonly othersWaitMs?: number
  readonly requestsFirstMs?: number
}

export class Opening {
  readonly #monotonicMs: () => number
  readonly #holdsMs: number
  readonly #othersWaitMs: number
  readonly #requestsFirstMs: number
  #trying: Promise<Ending> | undefined
  /** The last failure, while it holds. */
  #failure: DatabaseUnreachableError | undefined
  /** When the first try of the outage began. */
  #awaySinceMs: number | undefined
  /** When the last outage ended. */
  #endedMs = Number.NEGATIVE_INFINITY
  /** When a try last succeeded. */
  #openedMs = Number.NEGATIVE_INFINITY

  constructor(monotonicMs: () => number, times: OpeningTimes = {}) {
    this.#monotonicMs = monotonicMs
    this.#holdsMs = times.holdsMs ?? usualHoldsMs
    this.#othersWaitMs = times.othersWaitMs ?? usualOthersWaitMs
    this.#requestsFirstMs = times.requestsFirstMs ?? usualRequestsFirstMs
  }

  /** Whether an outage lasts, as far as this node knows. */
  get isAway(): boolean {
    return this.#awaySinceMs !== undefined
  }

  /** Whether the outage is so old that no request waits for its end. */
  get lasts(): boolean {
    return this.#awaySinceMs !== undefined && this.#monotonicMs() - this.#awaySinceMs >= waitsForMs
  }

  /** Ends the outage. Called when an open connection is used, so no try has to succeed first. */
  reached(): void {
    if (this.#awaySinceMs === undefined) return
    this.#awaySinceMs = undefined
    this.#endedMs = this.#monotonicMs()
  }

  /**
   * Returns what `open` opens, which is repeated while it is worth it.
   *
   * @throws the last error of `open`, which may be that of another caller
   */
  async get<T>(open: () => Promise<T>): Promise<T> {
    for (;;) {
      const outcome = await this.#turn(open)
      if (!(outcome instanceof DatabaseUnreachableError)) return outcome.value
      if (this.lasts) throw outcome
      await sleep(this.#holdsMs)
    }
  }

  /** Returns what `open` opens. @throws the error of `open`, which may be that of another caller */
  async once<T>(open: () => Promise<T>): Promise<T> {
    const outcome = await this.#turn(open)
    if (outcome instanceof DatabaseUnreachableError) throw outcome
    return outcome.value
  }

  /**
   * As `once`, for a connection that few requests wait for. In the first half second after an outage only the others
   * are opened.
   */
  async onceAfterRequests<T>(open: () => Promise<T>): Promise<T> {
    const outcome = await this.#turn(open, true)
    if (outcome instanceof DatabaseUnreachableError) throw outcome
    return outcome.value
  }

  /**
   * Returns what `open` opens, or the failure of the last try of any caller.
   *
   * @throws every error of `open` but that of an outage
   */
  async #turn<T>(
    open: () => Promise<T>,
    afterRequests = false,
  ): Promise<Opened<T> | DatabaseUnreachableError> {
    let patience = new Patience(this.#othersWaitMs)
    let yields = afterRequests
    try {
      while (this.#failure === undefined) {
        const yieldsMs = yields ? this.#endedMs + this.#requestsFirstMs - this.#monotonicMs() : 0
        if (yieldsMs > 0) {
          await sleep(yieldsMs)
          yields = false
          patience.end()
          patience = new Patience(this.#othersWaitMs)
        } else if (this.#trying === undefined || patience.isOver) return await this.#try(open)
        else {
          const ending = await patience.within(this.#trying)
          if (ending instanceof DatabaseUnreachableError) return ending
        }
      }
      return this.#failure
    } finally {
      patience.end()
    }
  }

  async #try<T>(open: () => Promise<T>): Promise<Opened<T> | DatabaseUnreachableError> {
    const beganMs = this.#monotonicMs()
    const { promise, resolve } = Promise.withResolvers<Ending>()
    this.#trying = promise
    const ended = (ending: Ending) => {
      if (this.#trying === promise) this.#trying = undefined
      resolve(ending)
    }
    try {
      const value = await open()
      this.reached()
      this.#failure = undefined
      this.#openedMs = this.#monotonicMs()
      ended('opened')
      return { value }
    } catch (error) {
      if (!(error instanceof DatabaseUnreachableError)) {
        ended('failed')
        throw error
      }
      // Another try, which began later, may have succeeded since.
      const isOutdated = this.#openedMs > beganMs
      if (!isOutdated) this.#awaySinceMs ??= beganMs
      // An old try says nothing about the database of now.
      const isOld = isOutdated || this.#monotonicMs() - beganMs >= this.#othersWaitMs
      if (!isOld) this.#hold(error)
      ended(isOld ? 'failed' : error)
      return error
    }
  }

  #hold(error: DatabaseUnreachableError): void {
    this.#failure = error
    const release = () => {
      if (this.#failure === error) this.#failure = undefined
    }
    startTimer(release, this.#holdsMs).unref()
  }
}

/** The time that a caller waits for the tries of others before its own one. It begins with the first wait. */
class Patience {
  readonly #ms: number
  #ended: AbortController | undefined
  #late: Promise<void> | undefined
  isOver = false

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Returns undefined if the time ends before the promise settles. */
  within<T>(promise: Promise<T>): Promise<T | undefined> {
    this.#ended ??= new AbortController()
    this.#late ??= sleep(this.#ms, undefined, { signal: this.#ended.signal }).then(
      () => {
        this.isOver = true
      },
      () => {},
    )
    return Promise.race([promise, this.#late.then(() => undefined)])
  }

  end(): void {
    this.#ended?.abort()
  }
}
