/**
 * Everything that an installation has stored, to compare before and after.
 *
 * Left out: nonces, which a refused request spends, the times of contact, which it may renew, and when maintenance
 * last looked at the clock.
 */
import Database from 'better-sqlite3'
import { databasePath } from '../../../server/store-files.ts'

const spent = ['nonces', 'maintenance']
const contact = ['last_contact_at', 'last_used_at']

export type Stored = Readonly<Record<string, readonly unknown[]>>

export function stored(data: string): Stored {
  const database = new Database(databasePath(data), { readonly: true, fileMustExist: true })
  try {
    const tables = database
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all()
    const kept = tables.filter((table) => !spent.includes(table))
    return Object.fromEntries(kept.map((table) => [table, rowsOf(database, table)]))
  } finally {
    database.close()
  }
}

function rowsOf(database: Database.Database, table: string): unknown[] {
  const rows = database.prepare<[], Record<string, unknown>>(`SELECT * FROM ${table}`).all()
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([column]) => !contact.includes(column))),
  )
}
