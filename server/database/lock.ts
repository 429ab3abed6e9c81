/**
 * One server per data folder.
 *
 * `lock.db` is held in an open EXCLUSIVE transaction. Node has no flock; this lock dies with the process, so that
 * nothing stale is left after a kill. Nothing else may open `lock.db` in this process: closing a second handle drops
 * the lock.
 */
import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { makePrivateFolder } from '../private-folder.ts'
import { sqliteCode } from './connection.ts'

export interface DataFolderLock {
  release(): void
}

/** Another process serves this data folder. */
export class DataFolderLocked extends Error {
  override readonly name = 'DataFolderLocked'
}

/** A lock that nobody refers to would be closed by the garbage collector, and so be lost. */
const held = new Set<Database.Database>()

/** Makes the folder if needed, 0700. @throws DataFolderLocked */
export function lockDataFolder(folder: string): DataFolderLock {
  makePrivateFolder(folder)
  chmodSync(folder, 0o700)
  const path = join(folder, 'lock.db')
  // What SQLite keeps beside it gets the same mode.
  if (existsSync(path)) chmodSync(path, 0o600)
  else closeSync(openSync(path, 'a', 0o600))
  const database = new Database(path, { timeout: 0 })
  try {
    // Nothing is ever written, so that a full disk keeps no server from starting.
    database.pragma('journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (sqliteCode(error) !== 'SQLITE_BUSY') throw error
    throw new DataFolderLocked(
      `another server is using ${folder}; stop it first, or use another data folder`,
      {
        cause: error,
      },
    )
  }
  held.add(database)
  return {
    release() {
      held.delete(database)
      database.close()
    },
  }
}
