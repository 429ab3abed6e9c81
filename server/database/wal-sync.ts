/**
 * Bringing the write-ahead log to the disk while the next group is already at work.
 *
 * `synchronous = FULL` is `NORMAL` with one sync more: that of the log after each commit, during which the thread
 * stands still. From here on the connection commits with `NORMAL`, which still orders log and file around each folding,
 * and that one sync is made here; what was committed counts once it is done and no sooner.
 *
 * The handle is of the log alone: closing it drops none of SQLite's locks, which lie on the file and the index.
 *
 * sqlite.org/wal.html, sqlite.org/pragma.html#pragma_synchronous; contract §2 "Group commit".
 */
import { closeSync, fdatasync, fdatasyncSync, openSync, realpathSync } from 'node:fs'
import type Database from 'better-sqlite3'

export interface WalSync {
  /** Resolves once all that was committed before the call is on disk. @throws what the disk says: then nothing is known. */
  sync(): Promise<void>
  /** The same, and the thread waits. */
  syncNow(): void
  close(): void
}

/** The database is open in WAL mode and has been written to; its commits are not durable by themselves any more. */
export function openWalSync(database: Database.Database): WalSync {
  // The log lies beside the file itself, not beside a link to it. Windows flushes only what may be written.
  const handle = openSync(`${realpathSync(database.name)}-wal`, 'r+')
  database.pragma('synchronous = NORMAL')
  // macOS alone: its plain sync leaves the order of the log and the file to the drive.
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

/** Of a connection whose commits are on disk when they return: nothing is left to do. */
export const syncedByCommit: WalSync = { sync: async () => {}, syncNow() {}, close() {} }
