/**
 * One server per data folder, and whatever else one process has to itself.
 *
 * The file of a lock is held in an open EXCLUSIVE transaction. Node has no flock; this lock dies with the process, so that
 * nothing stale is left after a kill. Nothing but SQLite may open the file in this process: closing a second handle drops
 * the lock.
 */
import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { makePrivateFolder } from '../host/private-folder.ts'
import { sqliteCode } from './connection.ts'

export interface FileLock {
  release(): void
}

/** Another process serves this data folder. */
export class DataFolderLockedError extends Error {
  override readonly name = 'DataFolderLockedError'
}

/** A lock that nobody refers to would be closed by the garbage collector, and so be lost. */
const held = new Set<Database.Database>()

/** Makes the folder if needed, 0700. @throws DataFolderLockedError */
export function lockDataFolder(folder: string): FileLock {
  makePrivateFolder(folder)
  chmodSync(folder, 0o700)
  const path = join(folder, 'lock.db')
  // What SQLite keeps beside it gets the same mode.
  if (existsSync(path)) chmodSync(path, 0o600)
  else closeSync(openSync(path, 'a', 0o600))
  const lock = lockFile(path)
  if (lock !== undefined) return lock
  throw new DataFolderLockedError(
    `another server is using ${folder}; stop it first, or use another data folder`,
  )
}

/** Holds a file that is there, empty, and for nothing else. Undefined when somebody else holds it. */
export function lockFile(path: string): FileLock | undefined {
  const database = new Database(path, { timeout: 0, fileMustExist: true })
  try {
    // Nothing is ever written, so that a full disk keeps no server from starting.
    database.pragma('journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (sqliteCode(error) !== 'SQLITE_BUSY') throw error
    return undefined
  }
  held.add(database)
  return {
    release() {
      held.delete(database)
      database.close()
    },
  }
}
