/** The SQLite file of a data folder, for a test of what only SQLite does: its pages, its WAL, its plans. */
import Database from 'better-sqlite3'
import { databasePath } from '../../server/storage/data-folder.ts'

export function onFile<T>(data: string, act: (database: Database.Database) => T): T {
  const database = new Database(databasePath(data), { fileMustExist: true, timeout: 5000 })
  // Rows that a test deletes are overwritten too.
  database.pragma('secure_delete = ON')
  try {
    return act(database)
  } finally {
    database.close()
  }
}
