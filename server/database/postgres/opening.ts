/**
 * Opens connections for requests. A request waits for a database that cannot be reached, but only in the first
 * 1.5 seconds of the outage. So a crash or a failover that ends by then refuses no new request, and a longer one
 * fills no queue. If one process of a server with a synchronous standby crashes, the server accepts connections
 * again after about a second.
 *
 * A caller waits half a second for the tries of others, and takes a connection that has become idle meanwhile. A
 * server that comes back would otherwise start a process for each caller of each node at the same time, and all of
 * them would answer later.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnreachableError } from './connection.ts'

const waitsForMs = 1500
/** A recovering server starts a process for each try. */
const againAfterMs = 100
/** A lost packet delays a try by a second, and other callers by no more than this. */
const usualOthersWaitMs = 500

/** How a try ended. Callers that have waited for it share an outage, and no other fault. */
type Ending = 'opened' | 'failed' | DatabaseUnreachableError

export class Opening {
  readonly #monotonicMs: () => number
  readonly #othersWaitMs: number
  #trying: Promise<Ending> | undefined
  /** When the first try of the outage began. */
  #awaySinceMs: number | undefined
  /** When a try last succeeded. */
  #openedMs = Number.NEGATIVE_INFINITY

  constructor(monotonicMs: () => number, othersWaitMs = usualOthersWaitMs) {
    this.#monotonicMs = monotonicMs
    this.#othersWaitMs = othersWaitMs
  }

  /**
   * Returns what `idle` has, or else what `open` opens, which is repeated while it is worth it.
   *
   * @throws the last error of `open`, which may be that of another caller
   */
  async get<T>(open: () => Promise<T>, idle: () => T | undefined = () => undefined): Promise<T> {
    const patience = new Patience(this.#othersWaitMs)
    let failure: DatabaseUnreachableError | undefined
    try {
      for (;;) {
        const found = idle()
        if (found !== undefined) {
          this.#awaySinceMs = undefined
          return found
        }
        if (failure !== undefined) {
          this.#requireWorth(failure)
          failure = undefined
          await sleep(againAfterMs)
        } else if (this.#trying === undefined || patience.isOver) {
          const tried = await this.#try(open)
          if (!(tried instanceof DatabaseUnreachableError)) return tried.value
          failure = tried
        } else {
          const ending = await patience.within(this.#trying)
          if (ending instanceof DatabaseUnreachableError) failure = ending
        }
      }
    } finally {
      patience.end()
    }
  }

  /** @throws every error of `open` but that of an outage */
  async #try<T>(open: () => Promise<T>): Promise<{ readonly value: T } | DatabaseUnreachableError> {
    const beganMs = this.#monotonicMs()
    const { promise, resolve } = Promise.withResolvers<Ending>()
    this.#trying = promise
    const ended = (ending: Ending) => {
      if (this.#trying === promise) this.#trying = undefined
      resolve(ending)
    }
    try {
      const value = await open()
      this.#awaySinceMs = undefined
      this.#openedMs = this.#monotonicMs()
      ended('opened')
      return { value }
    } catch (error) {
      if (!(error instanceof DatabaseUnreachableError)) {
        ended('failed')
        throw error
      }
      // Another try, which began later, may have succeeded since.
      if (this.#openedMs <= beganMs) this.#awaySinceMs ??= beganMs
      // An old try says nothing about the database of now.
      ended(this.#monotonicMs() - beganMs < this.#othersWaitMs ? error : 'failed')
      return error
    }
  }

  /** @throws the error, if the outage has lasted for too long */
  #requireWorth(error: DatabaseUnreachableError): void {
    if (this.#awaySinceMs === undefined) return
    if (this.#monotonicMs() - this.#awaySinceMs >= waitsForMs) throw error
  }
}

/** The time that a caller has for the tries of others, in all. It begins with the first wait. */
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
