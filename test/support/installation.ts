/**
 * A fresh installation for a test, copied from a database that is migrated once per run. Migrating costs more
 * than everything else in an installation. A test of creating an installation calls `initServer` itself.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../server/config.ts'
import { migrations } from '../../server/database/migrations/index.ts'
import { migrate } from '../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../server/database/sqlite/open.ts'
import { insertServer } from '../../server/database/sqlite/server-id.ts'
import { databasePath } from '../../server/storage/data-folder.ts'
import { makeEnvelopeKey } from '../../server/storage/envelope-keys.ts'
import { makePrivateFolder } from '../../server/storage/private-folder.ts'
import { isOnPostgres, makeDatabase } from './postgres.ts'

/** Shared by the test files of a run; see `build.ts`. */
const migrated = join(process.env.BRIDGE_TEST_MEMORY ?? mkdtempSync(join(tmpdir(), 'bridge-')), 'migrated.db')

/** Makes the folder as `initServer` leaves it, without a set-up link. */
export async function makeInstallation(config: Pick<Config, 'data' | 'envelopeKeyFile'>): Promise<void> {
  makePrivateFolder(config.data)
  makeEnvelopeKey(config.envelopeKeyFile, randomBytes)
  if (isOnPostgres) return makeDatabase(config.data, randomUUID())
  if (!existsSync(migrated)) makeMigrated()
  const path = databasePath(config.data)
  copyFileSync(migrated, path)
  const database = openDatabase(path)
  insertServer(database, randomUUID(), new Date())
  database.close()
}

/** Several test files may call this at the same time: each makes its own copy, and the last rename wins. */
function makeMigrated(): void {
  const own = `${migrated}-${process.pid}`
  const database = openDatabase(own)
  migrate(database, migrations, () => new Date())
  database.close()
  renameSync(own, migrated)
  for (const rest of ['-wal', '-shm']) rmSync(own + rest, { force: true })
}
