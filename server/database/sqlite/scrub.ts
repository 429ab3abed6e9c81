/**
 * Rewrites the file (VACUUM), so that the disk holds no copy of removed rows. Runs only between units of
 * work.
 *
 * SQLite overwrites deleted rows (`secure_delete`). But when it balances a B-tree, it copies rows and leaves
 * old copies in the unused part of pages that are still in use. Contract §10 "rows and stored bytes go".
 */
import type Database from 'better-sqlite3'

/** Returns the number of bytes that a rewrite writes: the pages in use. */
export function bytesInUse(database: Database.Database): number {
  const read = (name: string) => database.pragma(name, { simple: true }) as number
  return (read('page_count') - read('freelist_count')) * read('page_size')
}

/** Returns the number of bytes that a copy of the file takes. */
export function bytesInFile(database: Database.Database): number {
  const read = (name: string) => database.pragma(name, { simple: true }) as number
  return read('page_count') * read('page_size')
}

/** Another process writes, or the disk has no space for a second copy of the file. */
const temporaryFailures = new Set<string | undefined>(['SQLITE_BUSY', 'SQLITE_FULL'])

/**
 * Rewrites the file and truncates the WAL, without waiting for a lock. Returns false if the caller must try
 * again, because another process reads and so the WAL still holds old pages, or because of a temporary
 * failure.
 */
export function rewriteFile(database: Database.Database): boolean {
  const timeout = database.pragma('busy_timeout', { simple: true })
  database.pragma('busy_timeout = 0')
  try {
    database.exec('VACUUM')
    const [result] = database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
    return result?.busy === 0
  } catch (error) {
    if (temporaryFailures.has((error as { code?: string }).code)) return false
    throw error
  } finally {
    database.pragma(`busy_timeout = ${timeout}`)
  }
}
