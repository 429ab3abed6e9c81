/**
 * Opens connections for requests. A request waits for a database that cannot be reached, but only in the first
 * 1.5 seconds of the outage. So a crash or a failover that ends by then refuses no new request, and a longer one
 * fills no queue. If one process of a server with a synchronous standby crashes, the server accepts connections
 * again after about a second.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnreachableError } from './connection.ts'

const waitsForMs = 1500
/** A recovering server starts a process for each try, and several callers try at the same time. */
const againAfterMs = 50

export class Opening {
  readonly #monotonicMs: () => number
  /** When the first try of the outage began. */
  #awaySinceMs: number | undefined

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** Repeats `open` while it is worth it. @throws the last error of `open` */
  async get<T>(open: () => Promise<T>): Promise<T> {
    for (;;) {
      const beganMs = this.#monotonicMs()
      try {
        const opened = await open()
        this.#awaySinceMs = undefined
        return opened
      } catch (error) {
        if (!(error instanceof DatabaseUnreachableError)) throw error
        this.#awaySinceMs ??= beganMs
        if (this.#monotonicMs() - this.#awaySinceMs >= waitsForMs) throw error
        await sleep(againAfterMs)
      }
    }
  }
}
