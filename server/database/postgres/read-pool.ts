/**
 * The connections of the reader. They are opened one after another, and only while none is idle. If one is usable, the
 * next is opened a second later at the earliest. A new connection costs the server a process that reads the catalogue
 * anew. After a crash all nodes connect at the same time, and with fewer connections their first requests are answered
 * sooner.
 */
import { DatabaseUnreachableError, type PostgresConnection } from './connection.ts'
import type { Opening } from './opening.ts'

/** From one connection, or from a failed try, to the next one. */
const usualRestsMs = 1000
/** A connection whose start hangs keeps others waiting no longer than this. */
const usualLateMs = 500

/** The timers of the process. A test may replace the global ones, and a rest would then never end. */
const {
  setTimeout: startTimer,
  clearTimeout: stopTimer,
  setInterval: startWatch,
  clearInterval: stopWatch,
} = globalThis

export interface ReadPoolOptions {
  readonly opening: Opening
  readonly open: () => Promise<PostgresConnection>
  readonly most: number
  readonly restsMs?: number
  readonly lateMs?: number
}

export interface Taken {
  readonly connection: PostgresConnection
  readonly isNew: boolean
}

export class ReadPool {
  readonly #options: ReadPoolOptions
  readonly #idle: PostgresConnection[] = []
  readonly #used = new Set<PostgresConnection>()
  /** Callers that wait for a connection, or for their turn to open one. */
  readonly #waiting: PromiseWithResolvers<void>[] = []
  #opens = 0
  #isLate = false
  #resting: NodeJS.Timeout | undefined

  constructor(options: ReadPoolOptions) {
    this.#options = options
  }

  /**
   * Resolves once the caller has a connection of its own, which it must give back.
   *
   * @throws the error of `open`, if no connection is in use. In an outage another caller may have got it
   */
  async take(): Promise<Taken> {
    for (let wasCalled = false; ; wasCalled = true) {
      const idle = this.#takeIdle()
      if (idle !== undefined) {
        this.#options.opening.reached()
        this.#used.add(idle)
        return { connection: idle, isNew: false }
      }
      if (!this.#mayOpen()) await this.#turn(wasCalled)
      else {
        const connection = await (this.#usable === 0 ? this.#open('first') : this.#openSpare())
        if (connection !== undefined) return { connection, isNew: true }
      }
    }
  }

  /** Takes a connection back. A broken one is not used again. */
  give(connection: PostgresConnection): void {
    this.#used.delete(connection)
    if (!connection.isBroken) this.#idle.push(connection)
    this.#callNext()
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.map((connection) => connection.close()))
  }

  /** A caller whose turn came too early keeps its place. */
  #turn(wasCalled: boolean): Promise<void> {
    const turn = Promise.withResolvers<void>()
    if (wasCalled) this.#waiting.unshift(turn)
    else this.#waiting.push(turn)
    return turn.promise
  }

  #takeIdle(): PostgresConnection | undefined {
    let connection = this.#idle.pop()
    while (connection?.isBroken) connection = this.#idle.pop()
    return connection
  }

  get #usable(): number {
    return [...this.#used, ...this.#idle].filter(({ isBroken }) => !isBroken).length
  }

  #mayOpen(): boolean {
    const { most, opening } = this.#options
    if (this.#usable + this.#opens >= most) return false
    if (this.#opens > 0) return this.#isLate && !opening.isAway
    return this.#usable === 0 || this.#resting === undefined
  }

  /**
   * A server may have no place for one more connection. Those in use then serve.
   *
   * @throws the error of a lasting outage, if no connection is usable any more
   */
  async #openSpare(): Promise<PostgresConnection | undefined> {
    try {
      return await this.#open('spare')
    } catch (error) {
      this.#rest()
      const isOutage = error instanceof DatabaseUnreachableError && this.#options.opening.lasts
      if (!isOutage || this.#usable > 0) return undefined
      this.#tell(error)
      throw error
    }
  }

  async #open(kind: 'first' | 'spare'): Promise<PostgresConnection> {
    const { opening, open, lateMs = usualLateMs } = this.#options
    this.#opens += 1
    this.#isLate = false
    const late = startWatch(() => {
      this.#isLate = true
      this.#callNext()
    }, lateMs)
    try {
      const connection = await (kind === 'first' ? opening.get(open) : opening.once(open))
      this.#used.add(connection)
      this.#rest()
      return connection
    } catch (error) {
      // After a spare one the rest ends, or a connection is given back.
      if (kind === 'first') this.#tell(error)
      throw error
    } finally {
      stopWatch(late)
      this.#opens -= 1
    }
  }

  /** No further connection is opened for a while, unless none is usable. */
  #rest(): void {
    stopTimer(this.#resting)
    this.#resting = startTimer(() => {
      this.#resting = undefined
      this.#callNext()
    }, this.#options.restsMs ?? usualRestsMs).unref()
  }

  /**
   * An outage holds for all that wait: tries one after another would keep the last one for their sum. But a connection
   * that is usable, or being opened by another caller, may still serve them.
   */
  #tell(error: unknown): void {
    const mayServe = this.#usable > 0 || this.#opens > 1
    if (mayServe || !(error instanceof DatabaseUnreachableError)) this.#callNext()
    else for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  #callNext(): void {
    this.#waiting.shift()?.resolve()
  }
}
