/** Unused space in the database file and its WAL. Runs only between units of work. */
import type Database from 'better-sqlite3'
import { sqliteCode } from './connection.ts'

/** Returns the size of the free pages, which SQLite uses again before the file grows. */
export function unusedBytes(database: Database.Database): number {
  const read = (name: string) => database.pragma(name, { simple: true }) as number
  return read('freelist_count') * read('page_size')
}

/** Another connection reads or writes, or the disk has no space for the checkpoint. */
const temporaryFailures = new Set<string | undefined>(['SQLITE_BUSY', 'SQLITE_LOCKED', 'SQLITE_FULL'])

/**
 * Checkpoints and truncates the WAL, without waiting for a lock. Returns false if the caller must try again.
 */
export function checkpoint(database: Database.Database): boolean {
  const timeout = database.pragma('busy_timeout', { simple: true })
  database.pragma('busy_timeout = 0')
  try {
    const [result] = database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
    return result?.busy === 0
  } catch (error) {
    if (temporaryFailures.has(sqliteCode(error))) return false
    throw error
  } finally {
    database.pragma(`busy_timeout = ${timeout}`)
  }
}
