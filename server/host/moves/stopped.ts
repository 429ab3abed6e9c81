/** The lock of a data folder whose node must be stopped. */
import { existsSync, readFileSync } from 'node:fs'
import { DataFolderLockedError, type FileLock, lockDataFolder } from '../../database/sqlite/lock.ts'
import { addressPath } from '../../storage/data-folder.ts'

/** @throws DataFolderLockedError, which names the process of the running server */
export function lockStopped(data: string): FileLock {
  try {
    return lockDataFolder(data)
  } catch (error) {
    if (!(error instanceof DataFolderLockedError)) throw error
    const pid = pidOf(data)
    const who = pid === undefined ? 'another process' : `a server (process ${pid})`
    throw new DataFolderLockedError(`${who} uses ${data}; stop it first`, { cause: error })
  }
}

function pidOf(data: string): number | undefined {
  if (!existsSync(addressPath(data))) return undefined
  try {
    return (JSON.parse(readFileSync(addressPath(data), 'utf8')) as { pid?: number }).pid
  } catch {
    // Half written, because the server was killed.
    return undefined
  }
}
