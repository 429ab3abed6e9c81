/**
 * The connections of the reader. They are opened one after another, a second apart, and only while none is idle. A new
 * connection costs the server a process that reads the catalogue anew. After a crash all nodes connect at the same
 * time, and their first requests would be answered later.
 */
import type { PostgresConnection } from './connection.ts'
import type { Opening } from './opening.ts'

/** From the start of one connection to the next. */
const usualRestsMs = 1000
/** An open connection that a lost packet delays keeps others waiting no longer than this. */
const usualLateMs = 500

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
  readonly #waiting: (() => void)[] = []
  #opens = 0
  #isLate = false
  #rests = false

  constructor(options: ReadPoolOptions) {
    this.#options = options
  }

  /** @throws the error of `open` */
  async take(): Promise<Taken> {
    for (let wasCalled = false; ; wasCalled = true) {
      const idle = this.#takeIdle()
      if (idle !== undefined) {
        this.#used.add(idle)
        return { connection: idle, isNew: false }
      }
      if (this.#mayOpen()) return { connection: await this.#open(), isNew: true }
      await this.#turn(wasCalled)
    }
  }

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
    const { promise, resolve } = Promise.withResolvers<void>()
    if (wasCalled) this.#waiting.unshift(resolve)
    else this.#waiting.push(resolve)
    return promise
  }

  #takeIdle(): PostgresConnection | undefined {
    let connection = this.#idle.pop()
    while (connection?.isBroken) connection = this.#idle.pop()
    return connection
  }

  #mayOpen(): boolean {
    const { most, opening } = this.#options
    const usable = [...this.#used].filter(({ isBroken }) => !isBroken).length
    if (usable + this.#opens >= most) return false
    if (this.#opens > 0) return this.#isLate && !opening.isAway
    return usable === 0 || !this.#rests
  }

  async #open(): Promise<PostgresConnection> {
    const { opening, open, restsMs = usualRestsMs, lateMs = usualLateMs } = this.#options
    this.#opens += 1
    this.#isLate = false
    const late = setTimeout(() => {
      this.#isLate = true
      this.#callNext()
    }, lateMs)
    try {
      const connection = await opening.get(open)
      this.#used.add(connection)
      this.#rest(restsMs)
      return connection
    } catch (error) {
      // The next caller may have to learn it too.
      this.#callNext()
      throw error
    } finally {
      clearTimeout(late)
      this.#opens -= 1
    }
  }

  #rest(ms: number): void {
    this.#rests = true
    setTimeout(() => {
      this.#rests = false
      this.#callNext()
    }, ms).unref()
  }

  #callNext(): void {
    this.#waiting.shift()?.()
  }
}
