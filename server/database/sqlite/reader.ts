/**
 * Reads snapshots on a separate read-only connection, so a read never sees uncommitted data.
 *
 * - Reads that wait together share one snapshot, which begins after all of them were requested. So a caller
 *   that awaits a write and then reads sees that write.
 * - A read starts immediately, on a microtask. One turn of the event loop runs at most 128 reads, so that
 *   many reads do not starve other work.
 * - The snapshot may contain commits that are not yet durable. The reader answers once they are.
 * - A read awaits only queries of `db`, as a unit of work does.
 * - If a page of the file is damaged, the reader answers 503 and ends the process, because other pages may be
 *   damaged.
 */
import type Database from 'better-sqlite3'
import { ApiError } from '../../api-error.ts'
import { retryAfterMs } from '../../retry-after.ts'
import { unitDb } from '../dialect.ts'
import type { Reader } from '../reader.ts'
import type { Db } from '../tables.ts'
import { UnitEndedError } from '../tx.ts'
import { withinTurn } from '../unit-overrun.ts'
import { isDamage, Statements, UnitConnection } from './connection.ts'
import { openDatabase } from './open.ts'

export interface ReaderOptions {
  readonly path: string
  /** `durable` of the writer of the same file. */
  readonly durable?: () => Promise<void> | undefined
  /** Most reads in one turn of the event loop, by default 128. */
  readonly maxPerTurn?: number
  /** Called once if the file is damaged. The process must then stop. */
  readonly onFatal?: (error: unknown) => void
}

type Waiting = () => Promise<void>

/** Opens a reader. The file must exist and be migrated. */
export function createReader(options: ReaderOptions): Reader {
  const queue = new ReadQueue(options)
  return {
    read: (unit) => queue.read(unit),
    // A read ends within its turn of the event loop.
    afterReads: (act) => void setImmediate(act),
    queueLength: () => queue.length,
    close: () => queue.close(),
  }
}

class ReadQueue {
  readonly #statements: Statements
  readonly #begin: Database.Statement
  readonly #end: Database.Statement
  readonly #maxPerTurn: number
  readonly #durable: () => Promise<void> | undefined
  readonly #onFatal: (error: unknown) => void
  #damaged = false
  readonly #waiting: Waiting[] = []
  #leftThisTurn: number
  #running = false
  #closed: Promise<void> | undefined
  #whenIdle = () => {}

  constructor({ path, durable = () => undefined, maxPerTurn = 128, onFatal = () => {} }: ReaderOptions) {
    this.#durable = durable
    this.#onFatal = onFatal
    const database = openDatabase(path, { readonly: true })
    this.#statements = new Statements(database)
    this.#begin = database.prepare('BEGIN')
    this.#end = database.prepare('COMMIT')
    this.#maxPerTurn = maxPerTurn
    this.#leftThisTurn = maxPerTurn
  }

  get length(): number {
    return this.#waiting.length
  }

  read<T>(unit: (db: Db) => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(stopping())
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(() =>
        this.#perform(unit).then(
          (value) => this.#settleWhenDurable(() => resolve(value), reject),
          (error: unknown) => this.#settleWhenDurable(() => reject(error), reject),
        ),
      )
      if (this.#running) return
      this.#running = true
      this.#continue()
    })
  }

  /** Calls `settle` once all commits of the snapshot are durable. They were made before this call. */
  #settleWhenDurable(settle: () => void, reject: (error: ApiError) => void): void {
    const durable = this.#durable()
    if (durable === undefined) settle()
    else durable.then(settle, (cause: unknown) => reject(stopping(cause)))
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    if (this.#running) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    this.#statements.database.close()
  }

  /** Schedules the next reads on a microtask, because `withinTurn` needs one. */
  #continue(): void {
    const next = () => queueMicrotask(() => void this.#runNext())
    if (this.#leftThisTurn > 0) next()
    else setImmediate(next)
  }

  async #runNext(): Promise<void> {
    if (this.#leftThisTurn === this.#maxPerTurn) this.#beginTurn()
    const group = this.#waiting.splice(0, this.#leftThisTurn)
    this.#leftThisTurn -= group.length
    for (const each of group) await each()
    this.#endSnapshot()
    if (this.#waiting.length > 0) return this.#continue()
    this.#running = false
    this.#whenIdle()
  }

  /** Ends the snapshot. On a damaged file even that can fail. */
  #endSnapshot(): void {
    if (!this.#statements.database.inTransaction) return
    try {
      this.#end.run()
    } catch (error) {
      this.#noteDamage(error)
    }
  }

  #noteDamage(error: unknown): void {
    if (this.#damaged) return
    this.#damaged = true
    this.#onFatal(error)
  }

  /** Resets the number of reads left once the current turn of the event loop ends. */
  #beginTurn(): void {
    setImmediate(() => {
      this.#leftThisTurn = this.#maxPerTurn
    }).unref()
  }

  /** Runs the unit on the open snapshot, or begins one. */
  async #perform<T>(unit: (db: Db) => Promise<T>): Promise<T> {
    const connection = new UnitConnection(this.#statements)
    try {
      if (!this.#statements.database.inTransaction) this.#begin.run()
      return await withinTurn(unit(unitDb(connection)))
    } catch (error) {
      if (!isDamage(error)) throw error
      this.#noteDamage(error)
      throw stopping(error)
    } finally {
      connection.end(() => new UnitEndedError())
    }
  }
}

/**
 * Refusal of a read while the process stops, because the database is damaged, failed to sync, or is closed.
 */
const stopping = (cause?: unknown): ApiError =>
  new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart, ...(cause !== undefined && { cause }) })
