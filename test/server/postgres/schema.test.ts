/** Both databases have the same tables and columns. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import { baselineNumber } from '../../../server/database/postgres/baseline.ts'
import { migrate } from '../../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { makeInstallation } from '../../support/installation.ts'
import { dropDatabase, isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../database/store.ts'

test('every migration after the baseline of PostgreSQL has a step for it', () => {
  const without = migrations.filter(
    ({ number, postgres }) => number > baselineNumber && postgres === undefined,
  )
  expect(without).toEqual([])
})

describe.skipIf(!isOnPostgres)('a fresh database', () => {
  const data = isOnPostgres ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''
  beforeAll(() => makeInstallation(readConfig({ data }, {})))
  afterAll(async () => {
    await dropDatabase(data)
    rmSync(data, { recursive: true })
  })

  test('has the columns of SQLite, and those of its own', async () => {
    const { rows } = await onDatabase(data, (client) =>
      client.query<{ name: string }>(
        `SELECT table_name || '.' || column_name || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END AS name
          FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1`,
      ),
    )
    const own =
      /^(kept_epochs|kept_lanes|leases|lanes|listeners|nodes|oldest_program|place|sign_in_failures)\.|^idempotency\.arrival/
    const found = rows.map(({ name }) => name).filter((name) => !own.test(name))
    expect(found.sort()).toEqual(columnsOfSqlite())
  })

  test('compares ids and texts byte by byte', async () => {
    const { rows } = await onDatabase(data, (client) =>
      client.query<{ name: string }>(
        `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
          WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`,
      ),
    )
    expect(rows).toEqual([])
  })
})

function columnsOfSqlite(): string[] {
  const database = openDatabase(join(temporaryFolder(), 'bridge.db'))
  migrate(database, migrations, () => new Date())
  const rows = database
    .prepare<[], string>(
      `SELECT t.name || '.' || c.name || CASE WHEN c."notnull" OR c.pk THEN ' not null' ELSE '' END
        FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'`,
    )
    .pluck()
    .all()
  database.close()
  return rows.sort()
}
