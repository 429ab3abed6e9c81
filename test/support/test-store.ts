/**
 * The store of a data folder, as a test reads and changes it: the SQLite file, or the database on PostgreSQL.
 * The server is not notified of a change.
 *
 * A test writes SQL that both databases understand, with `?` or `@name` for values. On PostgreSQL
 * `store-words.ts` adds the functions of SQLite that tests use. Each call waits for its answer without the
 * event loop, so a statement must not wait for a lock that a unit of a server in this process holds. Such a
 * wait fails after a second.
 */
import { readFileSync } from 'node:fs'
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { databasePath } from '../../server/storage/data-folder.ts'
import { databaseUrl, isOnPostgres } from './postgres.ts'
import type { StoreAnswer, StoreRequest } from './store-worker.ts'

export type Row = Readonly<Record<string, unknown>>

export interface StoreStatement<R> {
  get(...values: readonly unknown[]): R | undefined
  all(...values: readonly unknown[]): R[]
  run(...values: readonly unknown[]): { readonly changes: number }
  /** Each row becomes the value of its first column. */
  pluck(): StoreStatement<R>
  /** Each row becomes the list of its values. */
  raw(): StoreStatement<R>
}

export interface TestStore {
  prepare<R = unknown>(sql: string): StoreStatement<R>
  /** Runs several statements without values. */
  exec(sql: string): void
  /** Names of the tables, sorted. */
  tables(): string[]
  columnsOf(table: string): string[]
  close(): void
}

export const openStore = (data: string): TestStore => (isOnPostgres ? onPostgres(data) : onSqlite(data))

/** Opens the store for one act. */
export function withStore<T>(data: string, act: (store: TestStore) => T): T {
  const store = openStore(data)
  try {
    return act(store)
  } finally {
    store.close()
  }
}

/**
 * Returns all bytes that the store holds: the SQLite file after a checkpoint, or the values of all rows. Files
 * of PostgreSQL itself belong to its operator.
 */
export function storedBytes(data: string): Buffer {
  if (isOnPostgres) return withStore(data, valuesIn)
  const database = new Database(databasePath(data), { fileMustExist: true, timeout: 5000 })
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  return readFileSync(databasePath(data))
}

/** Returns the bytes of the files as they are, also what only the WAL has. On PostgreSQL as {@link storedBytes}. */
export const storeFiles = (data: string): Buffer =>
  isOnPostgres
    ? storedBytes(data)
    : Buffer.concat(['', '-wal'].map((suffix) => readFileSync(databasePath(data) + suffix)))

const valuesIn = (store: TestStore): Buffer =>
  Buffer.concat(
    store.tables().flatMap((table) =>
      store
        .prepare<Row>(`SELECT * FROM ${table}`)
        .all()
        .flatMap((row) => Object.values(row))
        .map((value) => (Buffer.isBuffer(value) ? value : Buffer.from(`${value}\n`))),
    ),
  )

function onSqlite(data: string): TestStore {
  const database = new Database(databasePath(data), { fileMustExist: true, timeout: 5000 })
  // Rows that a test deletes are overwritten too.
  database.pragma('secure_delete = ON')
  const names = (sql: string, ...values: readonly string[]) =>
    database
      .prepare<string[], string>(sql)
      .pluck()
      .all(...values)
  return {
    prepare: <R>(sql: string) => database.prepare(sql) as unknown as StoreStatement<R>,
    exec: (sql) => void database.exec(sql),
    tables: () => names("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"),
    columnsOf: (table) => names('SELECT name FROM pragma_table_info(?)', table),
    close: () => void database.close(),
  }
}

let opened = 0

function onPostgres(data: string): TestStore {
  opened += 1
  const id = opened
  const url = databaseUrl(data)
  const run = (text: string, values?: readonly unknown[]) => ask({ id, url, text, values })
  run("SET lock_timeout = '1s'; SET search_path = public, sqlite_words")
  const names = (sql: string, ...values: readonly string[]) =>
    run(sql, values).rows.map(({ name }) => String(name))
  return {
    prepare: (sql) => new PostgresStatement(sql, run),
    exec: (sql) => void run(sql),
    tables: () =>
      names(
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY name",
      ),
    columnsOf: (table) =>
      names(
        `SELECT column_name AS name FROM information_schema.columns
         WHERE table_schema = 'public' AND table_name = $1 ORDER BY ordinal_position`,
        table,
      ),
    close: () => void ask({ id, url }),
  }
}

type Found = Exclude<StoreAnswer, { error: string }>

class PostgresStatement<R> implements StoreStatement<R> {
  readonly #sql: string
  readonly #run: (text: string, values: readonly unknown[]) => Found
  #shape: (row: Row) => unknown = (row) => row

  constructor(sql: string, run: (text: string, values: readonly unknown[]) => Found) {
    this.#sql = sql
    this.#run = run
  }

  get(...values: readonly unknown[]): R | undefined {
    return this.all(...values)[0]
  }

  all(...values: readonly unknown[]): R[] {
    return this.#ask(values).rows.map((row) => this.#shape(row) as R)
  }

  run(...values: readonly unknown[]): { readonly changes: number } {
    return { changes: this.#ask(values).count }
  }

  pluck(): this {
    this.#shape = (row) => Object.values(row)[0]
    return this
  }

  raw(): this {
    this.#shape = (row) => Object.values(row)
    return this
  }

  #ask(values: readonly unknown[]): Found {
    const given: unknown[] = []
    const named = values[0]
    let next = 0
    const text = this.#sql.replace(/'(?:[^']|'')*'|\?|@(\w+)/g, (whole, name?: string) => {
      if (whole.startsWith("'")) return whole
      given.push(name === undefined ? values[next++] : (named as Row)[name])
      return `$${given.length}`
    })
    return this.#run(text, given)
  }
}

let thread: { readonly ask: (request: StoreRequest) => StoreAnswer } | undefined

/** Starts the thread. Its process must not count it as left over by a test file. */
export function startStoreThread(): void {
  if (isOnPostgres) thread ??= startThread()
}

function ask(request: StoreRequest): Found {
  startStoreThread()
  const answer = thread?.ask(request)
  if (answer === undefined) throw new Error('the thread of the store is not running')
  if ('error' in answer) throw new Error(`${answer.error}: ${request.text}`)
  return { ...answer, rows: answer.rows.map(withBuffers) }
}

/** A message between threads turns a Buffer into a Uint8Array. */
const withBuffers = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value) : value,
    ]),
  )

function startThread() {
  const { port1: own, port2: port } = new MessageChannel()
  const ready = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL('./store-worker.ts', import.meta.url), {
    workerData: { port, ready },
    transferList: [port],
    execArgv: [],
  })
  worker.unref()
  own.unref()
  return {
    ask(request: StoreRequest): StoreAnswer {
      own.postMessage(request)
      const state = Atomics.wait(ready, 0, 0, answerWithinMs)
      if (state === 'timed-out') throw new Error(`no answer from PostgreSQL: ${request.text}`)
      Atomics.store(ready, 0, 0)
      return receiveMessageOnPort(own)?.message as StoreAnswer
    },
  }
}

const answerWithinMs = 60_000
