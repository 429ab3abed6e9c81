/**
 * Exclusive lock between processes: one `listen` per profile, one `ask` per question.
 *
 * It is SQLite's file lock on an empty file. On Linux and macOS the kernel releases it when the process ends,
 * even by `kill -9`. So no lock is ever stale, and a lock file without a holder means nothing.
 *
 * Contract §12.
 */
import { chmodSync, closeSync, openSync } from 'node:fs'

export interface Lock {
  release(): void
}

/**
 * Takes the lock, or returns undefined if another process holds it.
 *
 * @throws the platform's error for the file
 */
export async function takeLock(path: string): Promise<Lock | undefined> {
  const { DatabaseSync } = loadSqlite()
  makePrivate(path)
  const file = new DatabaseSync(path, { timeout: 0 })
  try {
    file.exec('BEGIN EXCLUSIVE')
    return { release: () => file.close() }
  } catch (error) {
    file.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

/**
 * Loads `node:sqlite` without Node 22's warning that it is experimental. Every other warning reaches the
 * process.
 */
function loadSqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === 'ExperimentalWarning' && /^SQLite\b/.test(String(warning))) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof emitWarning
  try {
    // Unlike `import()` it is synchronous, so no other code runs while the function is replaced.
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}

/**
 * Creates the file with mode 0600. SQLite would make it readable for all users.
 *
 * A file that is there is not opened: a process loses its lock on a file when it closes any descriptor of it.
 */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    chmodSync(path, 0o600)
  }
}

/** Whether the error is SQLITE_BUSY, with any extended code. */
const isBusy = (error: unknown): boolean => ((error as { errcode?: number }).errcode ?? 0) % 256 === 5
