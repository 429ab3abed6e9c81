/**
 * A move of many rows is killed when half of them are copied, in both directions. The source then starts as before, and
 * the next move takes every row and compares the hashes of both sides. `BRIDGE_MOVE_ROWS=1000000` is the number of rows.
 * Without it the test is skipped. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, describe, expect, test } from 'vitest'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { run, starts } from './killed.ts'
import { expectServed, makeDatabase, makeScene, removeFolders, startOn, temporary } from './scene.ts'

const rows = Number(process.env.BRIDGE_MOVE_ROWS ?? 0)
const longestMs = 1_800_000

/** Adds records to the audit. Their ids are smaller than any id of a node. */
function addRecords(data: string, count: number): void {
  const database = new Database(databasePath(data))
  try {
    const names = database.prepare<[], string>("SELECT name FROM pragma_table_info('audit')").pluck().all()
    const others = names.filter((name) => name !== 'id').join(', ')
    database
      .prepare(
        `INSERT INTO audit (id, ${others})
         WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?)
         SELECT printf('00000000-0000-7000-8000-%012x', n), ${others}
         FROM counted, (SELECT * FROM audit WHERE project_id IS NOT NULL LIMIT 1)`,
      )
      .run(count)
  } finally {
    database.close()
  }
}

/** The number of these records, and of different ones apart from their ids. */
function addedTo(data: string): unknown {
  const database = new Database(databasePath(data), { readonly: true })
  try {
    return database
      .prepare(
        `SELECT (SELECT count(*) FROM audit WHERE id < '00000000-0000-7000-9') AS count, count(*) AS kinds
         FROM (SELECT DISTINCT at, kind, project_id, actor_id, subject_id, request_id, details
               FROM audit WHERE id < '00000000-0000-7000-9')`,
      )
      .get()
  } finally {
    database.close()
  }
}

describe.skipIf(!isOnPostgres || rows === 0)(`a move of ${rows} rows`, () => {
  afterAll(removeFolders)

  test(
    'is killed half-way, and takes every row the next time, there and back',
    async () => {
      const scene = await makeScene()
      addRecords(scene.data, rows)
      const { url, drop } = await makeDatabase()
      const { data } = scene

      await run({ data, url }, 'half')
      expect(await starts(data, '')).toBe(true)
      const there = await run({ data, url })
      expect(there?.tables.find(({ table }) => table === 'audit')?.rows).toBeGreaterThan(rows)

      const to = join(temporary(), 'back')
      await run({ data, url, to }, 'half')
      expect(await starts(to, '')).toBe(false)
      expect(await starts(data, url)).toBe(true)
      const back = await run({ data, url, to })
      expect(back?.tables.find(({ table }) => table === 'audit')?.rows).toBeGreaterThan(rows)
      expect(addedTo(to)).toEqual({ count: rows, kinds: 1 })

      const server = await startOn(to, { port: scene.port })
      await expectServed(scene).finally(() => server.stop())
      await drop()
    },
    longestMs,
  )
})
