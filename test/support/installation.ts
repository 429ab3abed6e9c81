/**
 * A fresh installation for a test, from a database that was migrated once a run: migrating costs more than all else that
 * an installation needs. A test that is about making an installation calls `initServer` itself.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../server/config.ts'
import { migrate } from '../../server/database/migrate.ts'
import { migrations } from '../../server/database/migrations/index.ts'
import { openDatabase } from '../../server/database/open.ts'
import { databasePath, insertServer } from '../../server/host/data-folder.ts'
import { makeEnvelopeKey } from '../../server/host/envelope/keys.ts'
import { makePrivateFolder } from '../../server/host/private-folder.ts'

/** Shared by the files of a run; see `build.ts`. */
const migrated = join(
  process.env.BRIDGE_TEST_TEMPORARY ?? mkdtempSync(join(tmpdir(), 'bridge-')),
  'migrated.db',
)

/** As `initServer` leaves the folder, without a set-up link. */
export function makeInstallation(config: Pick<Config, 'data' | 'envelopeKeyFile'>): void {
  if (!existsSync(migrated)) makeMigrated()
  makePrivateFolder(config.data)
  makeEnvelopeKey(config.envelopeKeyFile, randomBytes)
  const path = databasePath(config.data)
  copyFileSync(migrated, path)
  const database = openDatabase(path)
  insertServer(database, randomUUID(), new Date())
  database.close()
}

/** Several files may make it at once: each makes its own, and the last one stays. */
function makeMigrated(): void {
  const own = `${migrated}-${process.pid}`
  const database = openDatabase(own)
  migrate(database, migrations, () => new Date())
  database.close()
  renameSync(own, migrated)
  for (const rest of ['-wal', '-shm']) rmSync(own + rest, { force: true })
}
