/**
 * Opens the database file in WAL mode. Each pragma has its reason beside it.
 *
 * - The file gets mode 0600 before SQLite writes to it, and its WAL and shared-memory index inherit that
 *   mode. A folder that is made here gets mode 0700.
 * - This process must not open and close an existing database file itself. If a process closes any handle to
 *   a file, POSIX releases all locks of the process on it, including SQLite's.
 */
import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { makePrivateFolder } from '../../storage/private-folder.ts'

export interface OpenOptions {
  /** Opens an existing file for reading only. */
  readonly readonly?: boolean
}

/** The file system or the SQLite build cannot make commits durable. The message names the problem. */
export class UnsafeStoreError extends Error {
  override readonly name = 'UnsafeStoreError'
}

/** "brdg" in ASCII. Marks a SQLite file as an agent-bridge database. */
export const applicationId = 0x62726467

const busyTimeoutMs = 5000
const full = 2

const everyConnection = [
  // If another process holds the write lock, wait for it up to 5 s.
  `busy_timeout = ${busyTimeoutMs}`,
  // SQL in a manipulated schema must not call functions that access more than the database.
  'trusted_schema = OFF',
  // SQLite checks the cells of each page when it reads the page.
  'cell_size_check = ON',
  // Sorting must not write message texts to temporary files.
  'temp_store = MEMORY',
]

const writerOnly = [
  // Rows must not refer to missing rows.
  'foreign_keys = ON',
  // The default of this build in WAL mode is NORMAL, which loses acknowledged commits on power loss. This
  // pragma comes after `journal_mode`, because the setting would otherwise be lost.
  'synchronous = FULL',
  // A checkpoint syncs twice and writes each changed page once. 4000 pages in place of 1000 make checkpoints
  // rarer.
  'wal_autocheckpoint = 4000',
  // After a burst of writes, SQLite truncates the WAL to this size when it starts the WAL over.
  `journal_size_limit = ${64 * 1024 * 1024}`,
  // SQLite overwrites deleted rows, so that a stolen file or backup does not contain them.
  'secure_delete = ON',
  // Marks the file. This is the first write, and reading `synchronous` gives the real level only after a
  // write.
  `application_id = ${applicationId}`,
]

/** Opens the database. @throws UnsafeStoreError if WAL mode or `synchronous = FULL` is not possible */
export function openDatabase(path: string, options: OpenOptions = {}): Database.Database {
  if (options.readonly === true) return openReader(path)
  prepareFile(path)
  const database = new Database(path, { timeout: busyTimeoutMs })
  try {
    for (const pragma of everyConnection) database.pragma(pragma)
    // In WAL mode readers do not wait for the writer. It needs a local file system, because processes share
    // memory.
    const mode = database.pragma('journal_mode = WAL', { simple: true })
    if (mode !== 'wal')
      throw new UnsafeStoreError(
        `${path}: this file system does not support WAL mode (journal mode stays ${mode}); use a local disk`,
      )
    for (const pragma of writerOnly) database.pragma(pragma)
    requireDurable(database)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Checks that each commit of this connection is durable when it returns. @throws UnsafeStoreError */
export function requireDurable(database: Database.Database): void {
  const level = database.pragma('synchronous', { simple: true })
  if (level !== full)
    throw new UnsafeStoreError(
      `synchronous is ${level}, not ${full} (FULL): commits could be lost on power loss`,
    )
}

function openReader(path: string): Database.Database {
  const database = new Database(path, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs })
  for (const pragma of everyConnection) database.pragma(pragma)
  return database
}

function prepareFile(path: string): void {
  if (path === '' || path === ':memory:') throw new UnsafeStoreError('the database must be a file')
  makePrivateFolder(dirname(path))
  if (existsSync(path)) chmodSync(path, 0o600)
  else closeSync(openSync(path, 'wx', 0o600))
}
