/**
 * SQLite connection for Kysely. It caches prepared statements and gives each unit of work a separate view.
 *
 * - A view works only while its unit runs. Each later query through it throws an error and writes nothing.
 * - A unit reads and writes rows. The view refuses transactions, savepoints and pragmas, which belong to the
 *   writer.
 * - After a full disk or an I/O error, SQLite may have rolled back the transaction. The next statement would
 *   then commit outside of it. So the view closes after such an error. The writer finds the error in `lost`,
 *   even if the unit caught it.
 * - The view refuses streaming, because an open cursor blocks every other query of the connection.
 */
import Database from 'better-sqlite3'
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import type { NumberedQuery, UnitView } from '../connection.ts'
import { sqliteDialect } from './dialect.ts'

type Statement = Database.Statement<unknown[]>

const rowsOnly = /^\s*(?:select|insert|update|delete|with|values|replace)\b/i

/**
 * Errors of a full or failing disk or a damaged file. SQLite may have rolled back the transaction after one
 * of them.
 */
const storageFaults = /^SQLITE_(?:FULL|IOERR|CORRUPT|NOTADB|CANTOPEN|NOMEM)/

export const sqliteCode = (error: unknown): string | undefined =>
  error instanceof Database.SqliteError ? error.code : undefined

/** Returns whether SQLite found the database file damaged. */
export const isDamage = (error: unknown): boolean =>
  /^SQLITE_(?:CORRUPT|NOTADB)/.test(sqliteCode(error) ?? '')

export const isStorageFault = (error: unknown): boolean => storageFaults.test(sqliteCode(error) ?? '')

/**
 * Cache of the connection's prepared statements, at most 1000 by SQL text. To prepare a statement takes
 * several times as long as to run it.
 */
export class Statements {
  readonly database: Database.Database
  readonly #capacity: number
  readonly #bySql = new Map<string, Statement>()
  readonly #byNumber: Statement[] = []

  constructor(database: Database.Database, capacity = 1000) {
    this.database = database
    this.#capacity = capacity
  }

  get size(): number {
    return this.#bySql.size
  }

  get(sql: string): Statement {
    const known = this.#bySql.get(sql)
    if (known !== undefined) return known
    const statement = this.#prepare(sql)
    this.#bySql.set(sql, statement)
    if (this.#bySql.size > this.#capacity) this.#dropOldest()
    return statement
  }

  /**
   * Returns the statement of a numbered query. These have no bound, because the program has a fixed number of
   * them.
   */
  numbered(query: NumberedQuery): Statement {
    const known = this.#byNumber[query.number]
    if (known !== undefined) return known
    const statement = this.#prepare(query.sql)
    this.#byNumber[query.number] = statement
    return statement
  }

  #prepare(sql: string): Statement {
    if (!rowsOnly.test(sql)) throw new Error(`a unit may only read and write rows, not run: ${sql}`)
    return this.database.prepare<unknown[]>(sql)
  }

  #dropOldest(): void {
    for (const sql of this.#bySql.keys()) {
      this.#bySql.delete(sql)
      return
    }
  }
}

/** One unit's view of the connection, usable until `end`. */
export class UnitConnection implements DatabaseConnection, UnitView {
  readonly dialect = sqliteDialect
  readonly #statements: Statements
  #refuse: (() => Error) | undefined
  #lost: unknown

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** The error after which the transaction may be rolled back. Undefined if there was none. */
  get lost(): unknown {
    return this.#lost
  }

  end(refuse: () => Error): void {
    this.#refuse = refuse
  }

  requireOpen(): void {
    if (this.#refuse !== undefined) throw this.#refuse()
    if (this.#lost !== undefined) throw this.#lost
  }

  execute<R>(query: CompiledQuery): QueryResult<R> {
    this.requireOpen()
    try {
      return run<R>(this.#statements.get(query.sql), query.parameters)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  all(query: NumberedQuery, parameters: readonly unknown[]): unknown[] {
    this.requireOpen()
    try {
      return this.#statements.numbered(query).all(...parameters)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  /** Returns the first row and does not read the others. */
  first(query: NumberedQuery, parameters: readonly unknown[]): unknown {
    this.requireOpen()
    try {
      return this.#statements.numbered(query).get(...parameters)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  run(query: NumberedQuery, parameters: readonly unknown[]): number {
    this.requireOpen()
    try {
      return this.#statements.numbered(query).run(...parameters).changes
    } catch (error) {
      throw this.#noted(error)
    }
  }

  #noted(error: unknown): unknown {
    if (isStorageFault(error) || !this.#statements.database.inTransaction) this.#lost = error
    return error
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.execute<R>(query)
  }

  provideConnection<T>(consumer: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    return consumer(this)
  }

  // biome-ignore lint/correctness/useYield: an interface method that exists only to refuse
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not supported: read pages')
  }
}

/**
 * Kysely requires `numAffectedRows` as a bigint. There is no `insertId`, because a unit makes its ids before
 * it inserts.
 */
function run<R>(statement: Statement, parameters: readonly unknown[]): QueryResult<R> {
  if (!statement.reader) return { rows: [], numAffectedRows: BigInt(statement.run(...parameters).changes) }
  const rows = statement.all(...parameters) as R[]
  return statement.readonly ? { rows } : { rows, numAffectedRows: BigInt(rows.length) }
}
