/**
 * Syncs the WAL on another thread while the next group runs.
 *
 * `synchronous = FULL` differs from `NORMAL` by one sync of the WAL after each commit, which blocks the
 * thread. So the connection commits with `NORMAL`, and this module makes that sync. With `NORMAL` SQLite
 * still syncs before and after a checkpoint. A commit is durable only after the sync of this module.
 *
 * This module opens the WAL file only. Closing that handle releases no lock of SQLite, because SQLite locks
 * the database file and the shared-memory index.
 *
 * sqlite.org/wal.html, sqlite.org/pragma.html#pragma_synchronous; contract §2 "Group commit".
 */
import { closeSync, fdatasync, fdatasyncSync, openSync, realpathSync } from 'node:fs'
import type Database from 'better-sqlite3'

export interface WalSync {
  /**
   * Resolves once all commits made before the call are durable.
   *
   * @throws the error of the sync; then it is unknown what the disk holds
   */
  sync(): Promise<void>
  /** Does the same and blocks the thread. */
  syncNow(): void
  close(): void
}

/**
 * Takes over the syncs of a database that is in WAL mode and has been written to. Afterwards a commit is
 * durable only after a sync of the returned object.
 */
export function openWalSync(database: Database.Database): WalSync {
  // If the path is a link, the WAL is beside the target. The flag is `r+`, because Windows flushes writable
  // handles only.
  const handle = openSync(`${realpathSync(database.name)}-wal`, 'r+')
  database.pragma('synchronous = NORMAL')
  // On macOS, a plain sync lets the drive reorder writes to the WAL and the file. Other systems ignore this
  // pragma.
  database.pragma('checkpoint_fullfsync = ON')
  return {
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(handle, (error) => (error === null ? resolve() : reject(error)))
      }),
    syncNow: () => fdatasyncSync(handle),
    close: () => closeSync(handle),
  }
}

/** For a connection whose commits are durable when they return. Does nothing. */
export const syncedByCommit: WalSync = { sync: async () => {}, syncNow() {}, close() {} }
