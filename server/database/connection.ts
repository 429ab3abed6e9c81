/**
 * One SQLite connection as Kysely sees it: prepared statements by SQL text, and a view of them for one unit of work
 * that can be taken back.
 *
 * - A unit's view works only while the unit runs. Whatever still holds it afterwards gets an error, never a write.
 * - A unit reads and writes rows. Transactions, savepoints and pragmas belong to the writer and are refused.
 * - After a full disk or an I/O error SQLite may have ended the transaction by itself; the next statement would then
 *   commit alone. So such an error closes the view, and `lost` tells the writer, also when the unit swallowed it.
 * - No streaming: an open cursor blocks every other query of the connection.
 */
import Database from 'better-sqlite3'
import type { CompiledQuery, ConnectionProvider, DatabaseConnection, QueryResult } from 'kysely'

type Statement = Database.Statement<unknown[]>

const rowsOnly = /^\s*(?:select|insert|update|delete|with|values|replace)\b/i

/** Disk and file are in doubt, or full: nothing of the transaction may be believed any more. */
const graveCodes = /^SQLITE_(?:FULL|IOERR|CORRUPT|NOTADB|CANTOPEN|NOMEM)/

export const sqliteCode = (error: unknown): string | undefined =>
  error instanceof Database.SqliteError ? error.code : undefined

/** What the file holds is not what was written to it. */
export const isDamage = (error: unknown): boolean =>
  /^SQLITE_(?:CORRUPT|NOTADB)/.test(sqliteCode(error) ?? '')

export const isGrave = (error: unknown): boolean => graveCodes.test(sqliteCode(error) ?? '')

/** A query of the program's own, by which each connection finds its statement. */
export interface Numbered {
  readonly number: number
  readonly sql: string
}

/** Preparing costs several times what running does, so each SQL text is prepared once, up to a bound. */
export class Statements {
  readonly database: Database.Database
  readonly #kept: number
  readonly #bySql = new Map<string, Statement>()
  readonly #byNumber: Statement[] = []

  constructor(database: Database.Database, kept = 1000) {
    this.database = database
    this.#kept = kept
  }

  get size(): number {
    return this.#bySql.size
  }

  get(sql: string): Statement {
    const known = this.#bySql.get(sql)
    if (known !== undefined) return known
    const statement = this.#prepare(sql)
    this.#bySql.set(sql, statement)
    if (this.#bySql.size > this.#kept) this.#dropOldest()
    return statement
  }

  /** Of a prepared query, which are as many as the program has, and kept. */
  of(query: Numbered): Statement {
    const known = this.#byNumber[query.number]
    if (known !== undefined) return known
    const statement = this.#prepare(query.sql)
    this.#byNumber[query.number] = statement
    return statement
  }

  #prepare(sql: string): Statement {
    if (!rowsOnly.test(sql)) throw new Error(`a unit only reads and writes rows; refused: ${sql}`)
    return this.database.prepare<unknown[]>(sql)
  }

  #dropOldest(): void {
    for (const sql of this.#bySql.keys()) {
      this.#bySql.delete(sql)
      return
    }
  }
}

/** A unit's own view of the connection, good until `end`. */
export class UnitConnection implements DatabaseConnection, ConnectionProvider {
  readonly #statements: Statements
  #refuse: (() => Error) | undefined
  #lost: unknown

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** The error after which nothing in this transaction may be believed, if there was one. */
  get lost(): unknown {
    return this.#lost
  }

  /** From now on every use fails with such an error, made where the misuse is. */
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

  all(query: Numbered, parameters: readonly unknown[]): unknown[] {
    this.requireOpen()
    try {
      return this.#statements.of(query).all(...parameters)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  /** What else the query would find is not read. */
  first(query: Numbered, parameters: readonly unknown[]): unknown {
    this.requireOpen()
    try {
      return this.#statements.of(query).get(...parameters)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  /** Answers how many rows changed. */
  run(query: Numbered, parameters: readonly unknown[]): number {
    this.requireOpen()
    try {
      return this.#statements.of(query).run(...parameters).changes
    } catch (error) {
      throw this.#noted(error)
    }
  }

  #noted(error: unknown): unknown {
    if (isGrave(error) || !this.#statements.database.inTransaction) this.#lost = error
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

/** `numAffectedRows` is a bigint because Kysely says so; ids are taken before the insert, so there is no `insertId`. */
function run<R>(statement: Statement, parameters: readonly unknown[]): QueryResult<R> {
  if (!statement.reader) return { rows: [], numAffectedRows: BigInt(statement.run(...parameters).changes) }
  const rows = statement.all(...parameters) as R[]
  return statement.readonly ? { rows } : { rows, numAffectedRows: BigInt(rows.length) }
}
