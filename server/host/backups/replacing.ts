/**
 * Replaces the database in the data folder by a prepared one and keeps the old one.
 *
 * - A note is written before any file is moved. If the process is killed or a step fails, the next start of
 *   the server or the next restore finds the note and finishes the replacement first. Either the old or the
 *   new database is left, never a mixture.
 * - While the note exists, no other process opens the database, because its files are about to move.
 * - No process may have the old database open: SQLite deletes a WAL by its name and would delete that of the
 *   new database.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { databasePath, restoreNotePath } from '../../storage/data-folder.ts'
import { DatabaseInUseError } from './errors.ts'
import { sync } from './new-file.ts'
import { chownLikeFolder } from './owner.ts'

interface Replacement {
  /** Names of folders inside the data folder. */
  readonly staged: string
  /** Folder for the old database; null if there is none. */
  readonly kept: string | null
}

const suffixes = ['-wal', '-shm', '-journal', '']

/**
 * Replaces the database. The caller must hold the lock of the data folder. @throws DatabaseInUseError; then
 * nothing has changed
 */
export function replaceDatabase(data: string, replacement: Replacement): void {
  const note = restoreNotePath(data)
  writeFileSync(`${note}.partial`, JSON.stringify(replacement), { mode: 0o600 })
  // If this process is killed, the server has to finish as its own user.
  chownLikeFolder(data, [`${note}.partial`])
  sync(`${note}.partial`)
  renameSync(`${note}.partial`, note)
  sync(data)
  try {
    finishReplacement(data)
  } catch (error) {
    if (error instanceof DatabaseInUseError) rmSync(note)
    throw error
  }
}

/** Finishes a replacement that was interrupted. Returns whether there was one. */
export function finishReplacement(data: string): boolean {
  const note = restoreNotePath(data)
  if (!existsSync(note)) return false
  const { staged, kept } = JSON.parse(readFileSync(note, 'utf8')) as Replacement
  const from = databasePath(join(data, staged))
  if (existsSync(from)) {
    if (kept !== null) keepOld(data, join(data, kept))
    renameSync(from, databasePath(data))
    sync(data)
  }
  rmSync(join(data, staged), { recursive: true, force: true })
  rmSync(note)
  sync(data)
  return true
}

function keepOld(data: string, kept: string): void {
  mergeWal(databasePath(data))
  mkdirSync(kept, { recursive: true, mode: 0o700 })
  chownLikeFolder(data, [kept])
  for (const suffix of suffixes) {
    const from = databasePath(data) + suffix
    if (existsSync(from)) renameSync(from, databasePath(kept) + suffix)
  }
  sync(kept)
}

/**
 * Merges the WAL into the database file and checks that no other process has it open. A damaged database is
 * kept unchanged. @throws DatabaseInUseError
 */
function mergeWal(path: string): void {
  if (!existsSync(path)) return
  const database = new Database(path, { timeout: 0 })
  try {
    if (database.pragma('journal_mode = DELETE', { simple: true }) !== 'delete') throw inUse(path)
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') throw inUse(path, error)
    if (error instanceof DatabaseInUseError) throw error
  } finally {
    database.close()
  }
}

const inUse = (path: string, cause?: unknown): DatabaseInUseError =>
  new DatabaseInUseError(`another process has ${path} open`, { cause })
