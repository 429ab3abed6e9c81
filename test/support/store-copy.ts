/**
 * The store of a stopped server, as the crash left it. A copy is opened, so that the server itself recovers
 * the original.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { databasePath } from '../../server/storage/data-folder.ts'

export function withStoreCopy<T>(data: string, look: (database: Database.Database) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-copy-'))
  const copy = databasePath(folder)
  try {
    for (const suffix of ['', '-wal']) {
      if (existsSync(databasePath(data) + suffix)) copyFileSync(databasePath(data) + suffix, copy + suffix)
    }
    const database = new Database(copy)
    try {
      return look(database)
    } finally {
      database.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
