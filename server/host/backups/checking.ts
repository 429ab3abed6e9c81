/**
 * Checks that a file is a complete database of this program: all pages and indexes, and its identification.
 *
 * Used on copies only, which no other process has open: the check takes the file out of WAL mode, so that it
 * is a single file.
 */
import Database from 'better-sqlite3'
import { migrationStatus } from '../../database/sqlite/migrate.ts'
import { applicationId } from '../../database/sqlite/open.ts'
import { rewriteFile } from '../../database/sqlite/scrub.ts'
import { readServerId } from '../../database/sqlite/server-id.ts'
import { DamagedDatabaseError } from './errors.ts'

export interface Checked {
  readonly server_id: string
  /** Number of the last migration that was applied to it. */
  readonly migration: number
}

/** Checks the whole file; takes some seconds per gigabyte. @throws DamagedDatabaseError */
export function checkCopy(path: string, named: string): Checked {
  return withCopy(path, named, (database) => {
    database.pragma('journal_mode = DELETE')
    const [first] = database.pragma('integrity_check(1)') as { integrity_check: string }[]
    if (first?.integrity_check !== 'ok') throw damaged(named, first?.integrity_check)
    if (database.pragma('application_id', { simple: true }) !== applicationId)
      throw new DamagedDatabaseError(`${named} is not a database of this program`)
    const server_id = migrationStatus(database).length > 0 ? readServerId(database) : undefined
    if (server_id === undefined) throw new DamagedDatabaseError(`${named} contains no complete installation`)
    return { server_id, migration: migrationStatus(database).at(-1) ?? 0 }
  })
}

/**
 * If a project was deleted, rewrites the file, because the bytes of the deleted rows remain in it until the
 * server's next start.
 */
export function leaveOutDeleted(path: string, named: string): void {
  withCopy(path, named, (database) => {
    const sql = 'SELECT count(*) FROM pragma_table_info(?) WHERE name = ?'
    const knowsDeletion = database.prepare(sql).pluck().get('projects', 'deleted_at') === 1
    if (!knowsDeletion) return
    const deleted = database.prepare('SELECT 1 FROM projects WHERE deleted_at IS NOT NULL').get()
    if (deleted !== undefined) rewriteFile(database)
  })
}

function withCopy<T>(path: string, named: string, act: (database: Database.Database) => T): T {
  const database = new Database(path, { fileMustExist: true })
  try {
    // Defence against a manipulated schema and damaged pages.
    database.pragma('trusted_schema = OFF')
    database.pragma('cell_size_check = ON')
    return act(database)
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (/^SQLITE_(?:CORRUPT|NOTADB)/.test(code)) throw damaged(named, (error as Error).message, error)
    throw error
  } finally {
    database.close()
  }
}

const damaged = (named: string, reason = 'no reason given', cause?: unknown): DamagedDatabaseError =>
  new DamagedDatabaseError(`${named} is damaged: ${reason}`, cause === undefined ? {} : { cause })
