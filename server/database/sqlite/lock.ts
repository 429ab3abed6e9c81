/**
 * File locks between processes, such as the one that allows one server per data folder.
 *
 * Node has no flock, so a lock is an open EXCLUSIVE transaction on a SQLite file. The operating system
 * releases it when the process ends or is killed. In this process only SQLite may open the file, because
 * closing a second handle would release the lock.
 */
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { makePrivateFolder } from '../../storage/private-folder.ts'
import { sqliteCode } from './connection.ts'

export interface FileLock {
  /** Whether the locked file is still in its place. If it was removed or replaced, another process can lock. */
  isInPlace(): boolean
  release(): void
}

/** Another server uses this data folder. */
export class DataFolderLockedError extends Error {
  override readonly name = 'DataFolderLockedError'
}

/** Returns the device and number of a file, without opening it. */
function placeOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

/** Held locks. The garbage collector would close an unreferenced one and so release its lock. */
const held = new Set<Database.Database>()

/** Locks the data folder. Makes it with mode 0700 if needed. @throws DataFolderLockedError */
export function lockDataFolder(folder: string): FileLock {
  makePrivateFolder(folder)
  chmodSync(folder, 0o700)
  const path = join(folder, 'lock.db')
  // SQLite gives its journal beside this file the same mode.
  if (existsSync(path)) chmodSync(path, 0o600)
  else closeSync(openSync(path, 'a', 0o600))
  const lock = lockFile(path)
  if (lock !== undefined) return lock
  throw new DataFolderLockedError(
    `another server is using ${folder}; stop it first, or use another data folder`,
  )
}

/**
 * Locks an existing empty file that has no other use. Returns undefined if another process holds the lock.
 */
export function lockFile(path: string): FileLock | undefined {
  const database = new Database(path, { timeout: 0, fileMustExist: true })
  try {
    // The transaction writes nothing, so a server can also start on a full disk.
    database.pragma('journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (sqliteCode(error) !== 'SQLITE_BUSY') throw error
    return undefined
  }
  held.add(database)
  const locked = placeOf(path)
  return {
    isInPlace: () => locked !== undefined && placeOf(path) === locked,
    release() {
      held.delete(database)
      database.close()
    },
  }
}
