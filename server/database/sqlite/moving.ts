/** SQLite as a side of a move: pages of rows, and the record of the move. */
import { existsSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { databasePath } from '../../storage/data-folder.ts'
import type { Moved } from '../moved.ts'
import {
  type Column,
  type Columns,
  type CopiedTable,
  columnsOf,
  copiedTables,
  type Row,
  type Rows,
  type RowsTarget,
  rowsPerPage,
} from '../row-copy.ts'
import { openDatabase } from './open.ts'

/** Returns the record of the last move. An older database has none. */
export function readMoved(database: Database.Database): Moved | undefined {
  const has = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'moved'").get()
  if (has === undefined) return undefined
  return database.prepare<[], Moved>('SELECT state, move_id, place, at FROM moved').get()
}

/** Reads the record of a data folder without changing its database. */
export function movedOf(data: string): Moved | undefined {
  if (!existsSync(databasePath(data))) return undefined
  const database = openDatabase(databasePath(data), { readonly: true })
  try {
    return readMoved(database)
  } finally {
    database.close()
  }
}

export function writeMoved(database: Database.Database, { state, move_id, place, at }: Moved): void {
  database
    .prepare('INSERT INTO moved (one, state, move_id, place, at) VALUES (1, ?, ?, ?, ?)')
    .run(state, move_id, place, at)
}

/** `database` must be migrated. */
export function readColumns(database: Database.Database): Columns {
  const columns = database.prepare<[string], Column>('SELECT name, type FROM pragma_table_info(?)')
  return new Map(copiedTables.map(({ name }) => [name, columns.all(name)]))
}

export function sqliteRows(database: Database.Database, columns: Columns): Rows {
  return {
    async count({ name }) {
      return database.prepare<[], number>(`SELECT count(*) FROM ${name}`).pluck().get() ?? 0
    },
    async *pages(table, order) {
      const key = order === 'arrival' ? ['rowid'] : table.key
      const names = columnsOf(columns, table).map(({ name }) => name)
      const read = order === 'arrival' ? ['rowid', ...names] : names
      const page = (where: string) =>
        database.prepare<unknown[], Row>(
          `SELECT ${read.join(', ')} FROM ${table.name} ${where} ORDER BY ${key.join(', ')} LIMIT ${rowsPerPage}`,
        )
      let rows = page('').all()
      const next = page(`WHERE (${key.join(', ')}) > (${key.map(() => '?').join(', ')})`)
      while (rows.length > 0) {
        yield rows
        const last = rows.at(-1)
        rows = rows.length < rowsPerPage ? [] : next.all(...key.map((name) => last?.[name]))
      }
    },
  }
}

export function sqliteTarget(database: Database.Database, columns: Columns): RowsTarget {
  const inserts = new Map<string, Database.Statement<unknown[]>>()
  const insertInto = (table: CopiedTable): Database.Statement<unknown[]> => {
    const names = columnsOf(columns, table).map(({ name }) => name)
    const known =
      inserts.get(table.name) ??
      database.prepare<unknown[]>(
        `INSERT INTO ${table.name} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
      )
    inserts.set(table.name, known)
    return known
  }
  return {
    ...sqliteRows(database, columns),
    async insert(table, rows) {
      const insert = insertInto(table)
      const names = columnsOf(columns, table).map(({ name }) => name)
      for (const row of rows) insert.run(...names.map((name) => row[name]))
    },
  }
}
