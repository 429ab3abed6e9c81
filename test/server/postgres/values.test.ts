/**
 * Values that the two databases give in different ways: numbers, truth values, the order of texts, and empty
 * texts. Runs on both. The databases of the tests on Debian's PostgreSQL sort like a dictionary.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodeLane } from '../../../server/database/lanes.ts'
import type { NodeDatabase } from '../../../server/database/node-database.ts'
import { openStore } from '../../../server/open-store.ts'
import { testConfig } from '../../support/config.ts'
import { makeInstallation } from '../../support/installation.ts'
import { dropDatabase } from '../../support/postgres.ts'
import { add } from '../database/store.ts'

const names = ['b', 'B', 'a', 'ä', 'A', '_', 'a b', 'ab', '']
let data: string
let store: NodeDatabase

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), 'bridge-'))
  const config = testConfig(data)
  await makeInstallation(config)
  const fail = (error: unknown) => {
    throw error
  }
  const clocks = { clock: () => new Date(), monotonicMs: () => performance.now() }
  store = await openStore(config, { ...clocks, random: randomBytes, onFatal: fail, onEffectError: fail })
  await store.writer.write(nodeLane, async (tx) => {
    for (const name of names) await add(tx, name)
  })
})
afterAll(async () => {
  await store.close()
  await dropDatabase(data)
  rmSync(data, { recursive: true })
})

test('counts, sums and sizes are numbers', async () => {
  const row = await store.reader.read((db) =>
    db
      .selectFrom('owner_users')
      .select(({ fn }) => [
        fn.countAll().as('count'),
        fn.sum(sql<number>`length(name)`).as('sum'),
        fn.max(sql<number>`length(name)`).as('max'),
      ])
      .executeTakeFirstOrThrow(),
  )
  expect(row).toEqual({ count: names.length, sum: names.join('').length, max: 3 })
})

test('texts are in the order of their bytes', async () => {
  const rows = await store.reader.read((db) =>
    db.selectFrom('owner_users').select('name').orderBy('name').execute(),
  )
  const inBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))
  expect(rows.map(({ name }) => name)).toEqual([...names].sort(inBytes))
})

test('a range of texts follows the same order', async () => {
  const rows = await store.reader.read((db) =>
    db.selectFrom('owner_users').select('name').where('name', '>=', 'A').where('name', '<', 'a').execute(),
  )
  expect(rows.map(({ name }) => name).sort()).toEqual(['A', 'B', '_'])
})

test('an empty text is no null, and an empty id finds nothing', async () => {
  const count = (id: string) =>
    store.reader.read((db) => db.selectFrom('owner_users').select('id').where('id', '=', id).execute())
  expect(await count('')).toEqual([])
  const empty = await store.reader.read((db) =>
    db.selectFrom('owner_users').select('name').where('name', '=', '').execute(),
  )
  expect(empty).toEqual([{ name: '' }])
})
