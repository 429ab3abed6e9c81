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
import { formOf, mergedText } from '../../../server/database/postgres/merged.ts'
import { everyPrepared } from '../../../server/database/prepared.ts'
import { sqliteDialect } from '../../../server/database/sqlite/dialect.ts'
import { migrate } from '../../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { testConfig } from '../../support/config.ts'
import { makeInstallation } from '../../support/installation.ts'
import { dropDatabase, isOnPostgres, onDatabase } from '../../support/postgres.ts'

const data = mkdtempSync(join(tmpdir(), 'bridge-'))
afterAll(() => rmSync(data, { recursive: true }))

/** The part of an upgrade that older nodes see: a step that adds columns, which they do not know. */
const columnForEachTable = `DO $$ DECLARE each record; BEGIN
  FOR each IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('ALTER TABLE %I ADD COLUMN added bigint NOT NULL DEFAULT 0', each.tablename);
  END LOOP;
END $$`

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

  test('PostgreSQL prepares the merged form of most queries', async () => {
    const texts = everyPrepared(postgresDialect)
    const mergeable = texts.filter((text) => formOf(text) !== undefined)
    const types = await onDatabase(data, async (client) => {
      const found: string[][] = []
      for (const text of mergeable) {
        await client.query(`PREPARE one AS ${text}`)
        const { rows } = await client.query<{ types: string[] }>(
          "SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'one'",
        )
        await client.query('DEALLOCATE one')
        found.push(rows[0]?.types ?? [])
      }
      return found
    })
    const merged = mergeable.flatMap((text, index) => {
      const own = types[index] ?? []
      return own.length === 0 ? [] : [mergedText(text, own)]
    })
    expect(merged.length).toBeGreaterThan(texts.length / 2)
    expect(await refusals(merged)).toEqual([])
  })

  test('a column that a newer program adds to each table changes the rows of no prepared query', async () => {
    const texts = everyPrepared(postgresDialect)
    const control = 'select * from "tasks" where "id" = $1'
    const changed = await onDatabase(data, async (client) => {
      const prepare = async (text: string, name: string): Promise<readonly string[]> => {
        await client.query(`PREPARE ${name} AS ${text}`)
        const { rows } = await client.query<{ types: string[] }>(
          'SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = $1',
          [name],
        )
        return rows[0]?.types ?? []
      }
      const kept: { readonly text: string; readonly execute: string }[] = []
      const keep = async (text: string): Promise<readonly string[]> => {
        const name = `kept_${kept.length}`
        const types = await prepare(text, name)
        const nothing = types.length === 0 ? '' : `(${types.map(() => 'NULL').join(', ')})`
        kept.push({ text, execute: `EXPLAIN EXECUTE ${name}${nothing}` })
        return types
      }
      for (const text of [...texts, control]) {
        const types = await keep(text)
        if (types.length > 0 && formOf(text) !== undefined) await keep(mergedText(text, types))
      }
      await client.query(columnForEachTable)
      const found: string[] = []
      for (const { text, execute } of kept)
        await client.query(execute).catch((error: unknown) => found.push(`${messageOf(error)}: ${text}`))
      return found
    })
    expect(changed.splice(-2)).toEqual([
      expect.stringContaining(`cached plan must not change result type: ${control}`),
      expect.stringContaining('cached plan must not change result type: SELECT bridge.bridge_set, one.*'),
    ])
    expect(changed).toEqual([])
  })

  test('statements that lock rows, return rows of a change, or hold a text are not merged', () => {
    const left = [
      'select "id" from "agents" where "id" = $1 for update',
      'update "agents" set "name" = $1 where "id" = $2 returning "id"',
      'insert into "agents" ("id") values ($1) on conflict do nothing',
      'insert into "a" ("b", "c") values ($1, $2) on conflict ("b") do update set "c" = "a"."c" + "excluded"."c"',
      'update "inboxes" set "waiting" = $1',
      "select '$1' as text",
      'delete from "agents" where "id" = $1',
    ]
    expect(left.filter((text) => formOf(text) !== undefined)).toEqual([])
  })

  test('a query that only SQLite understands is found', async () => {
    const found = await refusals(['select rowid from audit', 'select id from audit where project_id is $1'])
    expect(found).toHaveLength(2)
  })
})
