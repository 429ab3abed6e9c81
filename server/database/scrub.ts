/**
 * Writing the file anew, so that nothing of what was removed is left on the disk. Between units of work only.
 *
 * SQLite overwrites what is deleted (`secure_delete`), but balancing a tree copies rows and leaves the old copies in the
 * unused part of pages that stay in use. Contract §10 "rows and stored bytes go".
 */
import type Database from 'better-sqlite3'

/** What a scrub has to write. */
export function bytesInUse(database: Database.Database): number {
  const read = (name: string) => database.pragma(name, { simple: true }) as number
  return (read('page_count') - read('freelist_count')) * read('page_size')
}

/** What a copy has to write. */
export function bytesInFile(database: Database.Database): number {
  const read = (name: string) => database.pragma(name, { simple: true }) as number
  return read('page_count') * read('page_size')
}

/** Another process writes at the moment, or there is no space for the file beside itself. */
const passing = new Set<string | undefined>(['SQLITE_BUSY', 'SQLITE_FULL'])

/** False: to be tried again, since another process reads and the WAL still holds the old pages, or see `passing`. It never waits. */
export function rewriteFile(database: Database.Database): boolean {
  const timeout = database.pragma('busy_timeout', { simple: true })
  database.pragma('busy_timeout = 0')
  try {
    database.exec('VACUUM')
    const [result] = database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
    return result?.busy === 0
  } catch (error) {
    if (passing.has((error as { code?: string }).code)) return false
    throw error
  } finally {
    database.pragma(`busy_timeout = ${timeout}`)
  }
}
