/**
 * An exclusive lock that ends with its process, however that ends: one `listen` a profile, one `ask` a
 * question.
 *
 * The lock is SQLite's on an empty file: on Linux and macOS the kernel holds it for the process and lets go
 * of it at its death, `kill -9` included. So there is no stale lock, and a file that stays means nothing.
 *
 * Contract §12.
 */
import { open } from 'node:fs/promises'

export interface Lock {
  release(): void
}

/** The lock, or undefined while another process holds it. @throws what the platform says of the file */
export async function takeLock(path: string): Promise<Lock | undefined> {
  const { DatabaseSync } = loadSqlite()
  await makePrivate(path)
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

/** Loads `node:sqlite` without Node 22's warning that it is experimental. Every other warning reaches the process. */
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

/** SQLite would make it for everybody to read. */
async function makePrivate(path: string): Promise<void> {
  const file = await open(path, 'a', 0o600)
  try {
    await file.chmod(0o600)
  } finally {
    await file.close()
  }
}

/** SQLITE_BUSY, whatever its extended code. */
const isBusy = (error: unknown): boolean => ((error as { errcode?: number }).errcode ?? 0) % 256 === 5
