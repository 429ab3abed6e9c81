/**
 * A prepared database takes the place of the one in the data folder, which is kept.
 *
 * - A note tells of it before anything is moved. Whoever finds the note brings it to its end first: the next start of
 *   the server, or the next restore. So a kill leaves the old database or the new one, never a mixture.
 * - While the note is there nobody else opens the store: its files are about to move.
 * - Nobody may have the old database open: SQLite removes a log by its name, and would take that of the new one.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { databasePath, restoreNotePath } from '../data-folder.ts'
import { DatabaseInUseError } from './errors.ts'
import { sync } from './new-file.ts'

interface Replacement {
  /** Folders inside the data folder. */
  readonly staged: string
  /** Where the old database goes; null where there is none. */
  readonly kept: string | null
}

const suffixes = ['-wal', '-shm', '-journal', '']

/** For who holds the lock of the data folder. @throws DatabaseInUseError, then nothing has happened */
export function replaceDatabase(data: string, replacement: Replacement): void {
  const note = restoreNotePath(data)
  writeFileSync(`${note}.partial`, JSON.stringify(replacement), { mode: 0o600 })
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

/** What a restore that was cut off left to do, if there was one. True: it is done now. */
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
  settle(databasePath(data))
  mkdirSync(kept, { recursive: true, mode: 0o700 })
  for (const suffix of suffixes) {
    const from = databasePath(data) + suffix
    if (existsSync(from)) renameSync(from, databasePath(kept) + suffix)
  }
  sync(kept)
}

/** One file, nobody else at it. What is damaged is kept as it lies there. @throws DatabaseInUseError */
function settle(path: string): void {
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
