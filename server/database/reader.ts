/**
 * Reading: snapshots on a read-only connection of its own, so that nothing uncommitted is ever seen.
 *
 * - Reads that wait together share one snapshot, taken after each of them was asked: whoever awaited a write before
 *   reading sees it.
 * - A read starts at once, on a microtask. Many in a row would starve everything else, so a turn of the event loop
 *   runs a bounded number.
 * - What is committed and not yet on disk is in the snapshot as well: it is told once it is there.
 * - The rule for units holds here too: they await nothing but `db`.
 * - A page that is damaged is answered with 503 and ends the process: what else it holds is in doubt.
 */
import type Database from 'better-sqlite3'
import { ApiError } from '../api-error.ts'
import { retryAfterMs } from '../retry-after.ts'
import { isDamage, Statements, UnitConnection } from './connection.ts'
import { unitDb } from './dialect.ts'
import { openDatabase } from './open.ts'
import { withinTurn } from './overrun.ts'
import type { Db } from './tables.ts'
import { UnitEndedError } from './tx.ts'

export interface ReaderOptions {
  readonly path: string
  /** Of the writer of the same file: see there. */
  readonly durable?: () => Promise<void> | undefined
  /** Most reads in one turn of the event loop. */
  readonly maxPerTurn?: number
  /** The file is damaged: nothing more may be answered from it. Called once. */
  readonly onFatal?: (error: unknown) => void
}

export interface Reader {
  /** @throws whatever the unit throws; UnitOverrunError when it awaited something other than `db`; `unavailable` after close. */
  read<T>(unit: (db: Db) => Promise<T>): Promise<T>
  /** Reads that wait for their turn. */
  queueLength(): number
  /** Finishes what was asked, refuses the rest. */
  close(): Promise<void>
}

type Waiting = () => Promise<void>

/** The file must exist and be migrated. */
export function createReader(options: ReaderOptions): Reader {
  const queue = new ReadQueue(options)
  return { read: (unit) => queue.read(unit), queueLength: () => queue.length, close: () => queue.close() }
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
          (value) => this.#tell(() => resolve(value), reject),
          (error: unknown) => this.#tell(() => reject(error), reject),
        ),
      )
      if (this.#running) return
      this.#running = true
      this.#continue()
    })
  }

  /** The commits that the snapshot shows came before this moment. */
  #tell(told: () => void, reject: (error: ApiError) => void): void {
    const durable = this.#durable()
    if (durable === undefined) told()
    else durable.then(told, (cause: unknown) => reject(stopping(cause)))
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

  /** On a microtask in any case, since `withinTurn` needs one. */
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

  /** What is damaged may not even let a snapshot end. */
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

  /** The allowance is whole again once the event loop has been round. */
  #beginTurn(): void {
    setImmediate(() => {
      this.#leftThisTurn = this.#maxPerTurn
    }).unref()
  }

  /** Joins the snapshot that is open, or begins one. */
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

/** A store that cannot be read ends the process, or is closed because it ends. */
const stopping = (cause?: unknown): ApiError =>
  new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart, ...(cause !== undefined && { cause }) })
