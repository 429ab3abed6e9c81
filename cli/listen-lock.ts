/**
 * One `listen` a profile: an exclusive lock that ends with its process, however that ends.
 *
 * The lock is SQLite's on an empty file: on Linux and macOS the kernel holds it for the process and lets go of it at
 * its death, `kill -9` included. So there is no stale lock, and the file that stays means nothing.
 *
 * Contract §12.
 */
import { CommandFailure } from './exit-codes.ts'

export interface ListenLock {
  release(): void
}

/** The lock, or undefined while another process holds it. */
export async function takeListenLock(path: string): Promise<ListenLock | undefined> {
  const { DatabaseSync } = await import('node:sqlite')
  const file = openFile(() => new DatabaseSync(path, { timeout: 0 }), path)
  try {
    file.exec('BEGIN EXCLUSIVE')
    return { release: () => file.close() }
  } catch (error) {
    file.close()
    if (isBusy(error)) return undefined
    throw failed(path, error)
  }
}

function openFile<T>(open: () => T, path: string): T {
  try {
    return open()
  } catch (error) {
    throw failed(path, error)
  }
}

/** SQLITE_BUSY, whatever its extended code. */
const isBusy = (error: unknown): boolean => ((error as { errcode?: number }).errcode ?? 0) % 256 === 5

const failed = (path: string, cause: unknown): CommandFailure =>
  new CommandFailure('unexpected', `cannot lock ${path}`, { cause })
