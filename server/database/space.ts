/** Room inside the database file and in its log. Between units of work only. */
import type Database from 'better-sqlite3'
import { sqliteCode } from './connection.ts'

/** Pages that hold nothing any more and are used again before the file grows. */
export function unusedBytes(database: Database.Database): number {
  const read = (name: string) => database.pragma(name, { simple: true }) as number
  return read('freelist_count') * read('page_size')
}

/** Somebody reads or writes at the moment, or there is no room to fold the log into. */
const passing = new Set<string | undefined>(['SQLITE_BUSY', 'SQLITE_LOCKED', 'SQLITE_FULL'])

/** Folds the log into the file and gives its room back to the disk. False: to be asked again. It never waits. */
export function checkpoint(database: Database.Database): boolean {
  const timeout = database.pragma('busy_timeout', { simple: true })
  database.pragma('busy_timeout = 0')
  try {
    const [result] = database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
    return result?.busy === 0
  } catch (error) {
    if (passing.has(sqliteCode(error))) return false
    throw error
  } finally {
    database.pragma(`busy_timeout = ${timeout}`)
  }
}
