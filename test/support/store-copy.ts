/**
 * The store of a stopped server, as the crash left it, for a test that may change what it sees. The server
 * itself recovers the original.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databasePath } from '../../server/storage/data-folder.ts'
import { isOnPostgres } from './postgres.ts'
import { type TestStore, withStore } from './test-store.ts'

/** On SQLite a copy of the files, on PostgreSQL a transaction that is rolled back. */
export const withStoreCopy = <T>(data: string, look: (store: TestStore) => T): T =>
  isOnPostgres ? withStore(data, (store) => rolledBack(store, look)) : withFileCopy(data, look)

function rolledBack<T>(store: TestStore, look: (store: TestStore) => T): T {
  store.exec('BEGIN ISOLATION LEVEL REPEATABLE READ')
  try {
    return look(store)
  } finally {
    store.exec('ROLLBACK')
  }
}

function withFileCopy<T>(data: string, look: (store: TestStore) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-copy-'))
  try {
    for (const suffix of ['', '-wal']) {
      if (existsSync(databasePath(data) + suffix))
        copyFileSync(databasePath(data) + suffix, databasePath(folder) + suffix)
    }
    return withStore(folder, look)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
