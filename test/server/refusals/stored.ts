/**
 * Everything that an installation has stored, to compare before and after.
 *
 * Left out: nonces, which a refused request spends, the times of contact, which it may renew, and the
 * readings of the clocks.
 */
import Database from 'better-sqlite3'
import { databasePath } from '../../../server/host/data-folder.ts'

const spent = ['nonces', 'maintenance', 'steady_clock']
const contact = ['last_contact_at', 'last_used_at']

/** Table → a line for each row, as SQL would write its values: made and compared quickly, and still read. */
export type Stored = Readonly<Record<string, readonly string[]>>

/** One store, looked at again and again: half of a look goes into opening it and preparing the queries. */
export class StoredReader {
  readonly #database: Database.Database
  readonly #queries: readonly (readonly [table: string, Database.Statement<[], string>])[]
  #version: unknown
  #stored: Stored = {}

  constructor(data: string) {
    this.#database = new Database(databasePath(data), { readonly: true, fileMustExist: true })
    const tables = this.#database
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all()
      .filter((table) => !spent.includes(table))
    this.#queries = tables.map((table) => [table, this.#linesOf(table)])
  }

  #linesOf(table: string): Database.Statement<[], string> {
    const columns = this.#database
      .prepare<[string], string>('SELECT name FROM pragma_table_info(?)')
      .pluck()
      .all(table)
      .filter((column) => !contact.includes(column))
    const line = columns.map((column) => `'${column} ' || quote(${column})`).join(" || ', ' || ")
    return this.#database.prepare<[], string>(`SELECT ${line} FROM ${table}`).pluck()
  }

  read(): Stored {
    // It changes with each commit of another connection.
    const version = this.#database.pragma('data_version', { simple: true })
    if (version !== this.#version) {
      this.#stored = Object.fromEntries(this.#queries.map(([table, lines]) => [table, lines.all()]))
      this.#version = version
    }
    return this.#stored
  }

  close(): void {
    this.#database.close()
  }
}

export function stored(data: string): Stored {
  const reader = new StoredReader(data)
  try {
    return reader.read()
  } finally {
    reader.close()
  }
}
