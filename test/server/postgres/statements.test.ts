/**
 * Every prepared query of the server is understood by both databases, also one that no other test runs.
 * Its second part runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import '../../../server/app.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import { postgresDialect } from '../../../server/database/postgres/dialect.ts'
import { everyPrepared } from '../../../server/database/prepared.ts'
import { sqliteDialect } from '../../../server/database/sqlite/dialect.ts'
import { migrate } from '../../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { testConfig } from '../../support/config.ts'
import { makeInstallation } from '../../support/installation.ts'
import { dropDatabase, isOnPostgres, onDatabase } from '../../support/postgres.ts'

const data = mkdtempSync(join(tmpdir(), 'bridge-'))
afterAll(() => rmSync(data, { recursive: true }))

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

test('SQLite prepares every query', () => {
  const database = openDatabase(join(data, 'queries.db'))
  migrate(database, migrations, () => new Date())
  const texts = everyPrepared(sqliteDialect)
  expect(texts.length).toBeGreaterThan(50)
  const refused = texts.flatMap((text) => {
    try {
      database.prepare(text)
      return []
    } catch (error) {
      return [`${messageOf(error)}: ${text}`]
    }
  })
  database.close()
  expect(refused).toEqual([])
})

describe.skipIf(!isOnPostgres)('on PostgreSQL', () => {
  beforeAll(() => makeInstallation(testConfig(data)))
  afterAll(() => dropDatabase(data))

  /** Returns why the database refuses a text, or undefined. */
  const refusals = (texts: readonly string[]): Promise<string[]> =>
    onDatabase(data, async (client) => {
      const refused: string[] = []
      for (const text of texts) {
        try {
          await client.query(`PREPARE one AS ${text}`)
          await client.query('DEALLOCATE one')
        } catch (error) {
          refused.push(`${messageOf(error)}: ${text}`)
        }
      }
      return refused
    })

  test('PostgreSQL prepares every query', async () => {
    expect(await refusals(everyPrepared(postgresDialect))).toEqual([])
  })

  test('a query that only SQLite understands is found', async () => {
    const found = await refusals(['select rowid from audit', 'select id from audit where project_id is $1'])
    expect(found).toHaveLength(2)
  })
})
