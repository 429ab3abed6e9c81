/**
 * Whether a file is a whole database of this program: every page and index of it, and what it says that it is.
 *
 * Used on copies only, which nobody else has open: it takes them out of WAL mode, so that they are one file.
 */
import Database from 'better-sqlite3'
import { migrationStatus } from '../../database/migrate.ts'
import { applicationId } from '../../database/open.ts'
import { rewriteFile } from '../../database/scrub.ts'
import { readServerId } from '../data-folder.ts'
import { DamagedDatabaseError } from './errors.ts'

export interface Checked {
  readonly server_id: string
  /** The last that was run in it. */
  readonly migration: number
}

/** Looks at all of it: some seconds a gigabyte. @throws DamagedDatabaseError */
export function checkCopy(path: string, named: string): Checked {
  return withCopy(path, named, (database) => {
    database.pragma('journal_mode = DELETE')
    const [first] = database.pragma('integrity_check(1)') as { integrity_check: string }[]
    if (first?.integrity_check !== 'ok') throw damaged(named, first?.integrity_check)
    if (database.pragma('application_id', { simple: true }) !== applicationId)
      throw new DamagedDatabaseError(`${named} is no database of this program`)
    const server_id = migrationStatus(database).length > 0 ? readServerId(database) : undefined
    if (server_id === undefined)
      throw new DamagedDatabaseError(`${named} holds no installation that was made completely`)
    return { server_id, migration: migrationStatus(database).at(-1) ?? 0 }
  })
}

/** Where a project was deleted and its last bytes wait for the server's next start, the copy does without them. */
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
    // What a planted schema may not do, and a damaged page does not get away with.
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

const damaged = (named: string, why = 'it does not say why', cause?: unknown): DamagedDatabaseError =>
  new DamagedDatabaseError(`${named} is damaged: ${why}`, cause === undefined ? {} : { cause })
