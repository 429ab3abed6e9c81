/**
 * Opening the store: one file in WAL mode, each pragma with its reason.
 *
 * - The file is 0600 before SQLite writes to it (its WAL and index inherit that), a folder made here is 0700.
 * - Nothing here opens and closes the file itself: POSIX drops all of a process's locks on a file when any handle to
 *   it is closed, and with them SQLite's.
 */
import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { makePrivateFolder } from '../host/private-folder.ts'

export interface OpenOptions {
  /** For readers: the file must exist and cannot be changed through this connection. */
  readonly readonly?: boolean
}

/** The store cannot keep its promises here: the message says which one, and what to do. */
export class UnsafeStoreError extends Error {
  override readonly name = 'UnsafeStoreError'
}

/** "brdg": what marks a file as ours. */
export const applicationId = 0x62726467

const busyTimeoutMs = 5000
const full = 2

const everyConnection = [
  // A second process may hold the write lock for a moment: wait for it instead of failing.
  `busy_timeout = ${busyTimeoutMs}`,
  // SQL stored in a planted schema must not call functions that reach outside the database.
  'trusted_schema = OFF',
  // A corrupt page is found when it is read, before it is believed.
  'cell_size_check = ON',
  // Sorting never spills message texts into temporary files.
  'temp_store = MEMORY',
]

const writerOnly = [
  // Rows never refer to what does not exist.
  'foreign_keys = ON',
  // The build's default in WAL mode is NORMAL, which loses acknowledged commits on power loss. After WAL, or it is lost.
  'synchronous = FULL',
  // Folding the log into the file waits for the disk twice: less often, and each page that was written again once.
  'wal_autocheckpoint = 4000',
  // A burst leaves a large WAL behind; past this size it is cut when it is started over.
  `journal_size_limit = ${64 * 1024 * 1024}`,
  // What retention removes is overwritten, so that a stolen file or backup does not hold it.
  'secure_delete = ON',
  // Marks the file as ours, and is the first write, after which `synchronous` tells the truth.
  `application_id = ${applicationId}`,
]

/** @throws UnsafeStoreError when the file system or the build cannot give WAL mode with full synchronisation. */
export function openDatabase(path: string, options: OpenOptions = {}): Database.Database {
  if (options.readonly === true) return openReader(path)
  prepareFile(path)
  const database = new Database(path, { timeout: busyTimeoutMs })
  try {
    for (const pragma of everyConnection) database.pragma(pragma)
    // Readers never wait for the writer; needs a local file system, since it shares memory between processes.
    const mode = database.pragma('journal_mode = WAL', { simple: true })
    if (mode !== 'wal')
      throw new UnsafeStoreError(
        `${path}: WAL mode is not possible here (it stays in ${mode}); use a local disk`,
      )
    for (const pragma of writerOnly) database.pragma(pragma)
    requireDurable(database)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** @throws UnsafeStoreError unless every commit of this connection reaches the disk before it returns. */
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
  if (path === '' || path === ':memory:') throw new UnsafeStoreError('the store must be a file')
  makePrivateFolder(dirname(path))
  if (existsSync(path)) chmodSync(path, 0o600)
  else closeSync(openSync(path, 'wx', 0o600))
}
