/**
 * Opens connections for requests. A request waits for a database that cannot be reached, but only in the first
 * 1.5 seconds of the outage. So a crash or a failover that ends by then refuses no new request, and a longer one
 * fills no queue. If one process of a server with a synchronous standby crashes, the server accepts connections
 * again after about a second.
 *
 * Callers open one connection after the other, and take one that has become idle meanwhile. A server that comes back
 * would otherwise start a process for each caller of each node at the same time, and all of them would answer later.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnreachableError } from './connection.ts'

const waitsForMs = 1500
/** A recovering server starts a process for each try. */
const againAfterMs = 100
/** A try that takes longer does not keep the other callers waiting: one lost packet takes a second. */
const othersWaitMs = 500

/** How a try ended. */
type Ending = 'opened' | 'failed' | { readonly unreachable: DatabaseUnreachableError }

export class Opening {
  readonly #monotonicMs: () => number
  /** When the first try of the outage began. */
  #awaySinceMs: number | undefined
  #trying: Promise<Ending> | undefined

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /**
   * Repeats `open` while it is worth it, unless `idle` returns a connection. Callers share the failure of a try.
   *
   * @throws the last error of `open`
   */
  async get<T>(open: () => Promise<T>, idle: () => T | undefined = () => undefined): Promise<T> {
    for (;;) {
      const found = idle()
      if (found !== undefined) return found
      const beganMs = this.#monotonicMs()
      // Nothing may run between the look for another try and the begin of one.
      const ending = this.#trying && (await inTime(this.#trying))
      if (ending === undefined) {
        const opened = await this.#try(open, beganMs)
        if (opened !== undefined) return opened.value
      } else if (typeof ending === 'object') this.#requireWorth(ending.unreachable)
      else continue
      await sleep(againAfterMs)
    }
  }

  /** Returns undefined if the database cannot be reached, and another try is worth it. */
  async #try<T>(open: () => Promise<T>, beganMs: number): Promise<{ readonly value: T } | undefined> {
    const { promise, resolve } = Promise.withResolvers<Ending>()
    this.#trying = promise
    const ended = (ending: Ending) => {
      if (this.#trying === promise) this.#trying = undefined
      resolve(ending)
    }
    try {
      const value = await open()
      this.#awaySinceMs = undefined
      ended('opened')
      return { value }
    } catch (error) {
      if (!(error instanceof DatabaseUnreachableError)) {
        ended('failed')
        throw error
      }
      this.#awaySinceMs ??= beganMs
      ended({ unreachable: error })
      this.#requireWorth(error)
      return undefined
    }
  }

  /** @throws the error, if the outage has lasted for too long */
  #requireWorth(error: DatabaseUnreachableError): void {
    const sinceMs = this.#awaySinceMs ?? this.#monotonicMs()
    if (this.#monotonicMs() - sinceMs >= waitsForMs) throw error
  }
}

/** Waits for the try of another caller. Returns undefined if it takes too long. */
async function inTime(trying: Promise<Ending>): Promise<Ending | undefined> {
  const over = new AbortController()
  const late = sleep(othersWaitMs, undefined, { signal: over.signal }).catch(() => undefined)
  try {
    return await Promise.race([trying, late])
  } finally {
    over.abort()
  }
}
