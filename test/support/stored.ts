/**
 * All stored data of an installation, to compare before and after.
 *
 * Left out are nonces (a refused request spends them), the audit records of refusals, the times of contact (it may renew them), and the
 * readings of the clocks.
 */
import Database from 'better-sqlite3'
import { databasePath } from '../../server/storage/data-folder.ts'

const spent = ['nonces', 'maintenance', 'steady_clock']
/** The name of a table that the test creates. */
const counter = 'counted_changes'
const unrefused = "WHERE kind <> 'access.refused'"
const contact = ['last_contact_at', 'last_used_at']

/**
 * A map from table to one line per row, with the values as SQL writes them: fast to make and compare, and
 * still readable.
 */
export type Stored = Readonly<Record<string, readonly string[]>>

/** Reads one store repeatedly: half of the time of a read is opening the store and preparing the queries. */
export class StoredReader {
  readonly #database: Database.Database
  readonly #queries: readonly (readonly [table: string, Database.Statement<[], string>])[]
  readonly #countChanges: Database.Statement<[], number>
  #changes: number | undefined
  #stored: Stored = {}

  /** A single read opens the store read-only and does not change it. */
  constructor(data: string, { once = false } = {}) {
    const database = new Database(databasePath(data), { readonly: once, fileMustExist: true })
    this.#database = database
    const tables = database
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all()
      .filter((table) => !spent.includes(table) && table !== counter)
    this.#queries = tables.map((table) => {
      const columns = this.#columnsOf(table)
      const line = columns.map((column) => `'${column} ' || quote(${column})`).join(" || ', ' || ")
      return [
        table,
        database
          .prepare<[], string>(`SELECT ${line} FROM ${table} ${table === 'audit' ? unrefused : ''}`)
          .pluck(),
      ]
    })
    if (!once) this.#beginToCount(tables)
    this.#countChanges = database
      .prepare<[], number>(once ? 'SELECT 0' : `SELECT changes FROM ${counter}`)
      .pluck()
  }

  #columnsOf(table: string): string[] {
    const columns = this.#database.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck()
    return columns.all(table).filter((column) => !contact.includes(column))
  }

  /**
   * Triggers count each change of a row in its own transaction, so that unchanged tables are not read again.
   */
  #beginToCount(tables: readonly string[]): void {
    const triggers = tables
      .filter((table) => !table.startsWith('sqlite_'))
      .flatMap((table) =>
        ['INSERT', 'DELETE', `UPDATE OF ${this.#columnsOf(table).join(', ')}`].map(
          (
            event,
          ) => `CREATE TRIGGER IF NOT EXISTS ${counter}_${table}_${event.slice(0, 6)} AFTER ${event} ON ${table}
            BEGIN UPDATE ${counter} SET changes = changes + 1; END`,
        ),
      )
    this.#database.exec(`
      BEGIN IMMEDIATE;
      CREATE TABLE IF NOT EXISTS ${counter} (one INTEGER PRIMARY KEY, changes INTEGER NOT NULL) STRICT;
      INSERT OR IGNORE INTO ${counter} VALUES (1, 0);
      ${triggers.join(';\n')};
      COMMIT`)
  }

  read(): Stored {
    const changes = this.#countChanges.get()
    if (changes !== this.#changes) {
      this.#stored = Object.fromEntries(this.#queries.map(([table, lines]) => [table, lines.all()]))
      this.#changes = changes
    }
    return this.#stored
  }

  close(): void {
    this.#database.close()
  }
}

export function stored(data: string): Stored {
  const reader = new StoredReader(data, { once: true })
  try {
    return reader.read()
  } finally {
    reader.close()
  }
}
