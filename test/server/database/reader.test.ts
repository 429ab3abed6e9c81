import { setImmediate as immediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Reader } from '../../../server/database/reader.ts'
import { createReader } from '../../../server/database/sqlite/reader.ts'
import { UnitEndedError } from '../../../server/database/tx.ts'
import { UnitOverrunError } from '../../../server/database/unit-overrun.ts'
import { add, openStore } from './store.ts'

const namesOf = (reader: Reader) =>
  reader.read(async (db) =>
    (await db.selectFrom('owner_users').select('name').orderBy('name').execute()).map((row) => row.name),
  )

test('a read after a write sees it, also while other reads are running', async () => {
  const { writer, reader } = openStore()
  const seen: string[][] = []
  const busy = async () => {
    for (let round = 0; round < 20; round += 1) await namesOf(reader)
  }
  const followed = async (name: string) => {
    await writer.write((tx) => add(tx, name))
    seen.push(await namesOf(reader))
  }
  await Promise.all([busy(), busy(), followed('ada')])
  await Promise.all([busy(), followed('ben')])
  expect(seen).toEqual([['ada'], ['ada', 'ben']])
})

test('one read is one snapshot', async () => {
  const { writer, reader, database } = openStore()
  await writer.write((tx) => add(tx, 'ada'))
  await reader.read(async (db) => {
    const before = await db.selectFrom('owner_users').select('name').execute()
    database.exec("UPDATE owner_users SET name = 'changed'")
    expect(await db.selectFrom('owner_users').select('name').execute()).toEqual(before)
  })
  expect(await namesOf(reader)).toEqual(['changed'])
})

test('the reader cannot write', async () => {
  const { reader, names } = openStore()
  const write = reader.read((db) => db.deleteFrom('owner_users').execute())
  await expect(write).rejects.toMatchObject({ code: 'SQLITE_READONLY' })
  await expect(reader.read((db) => sql.raw('pragma query_only = 0').execute(db))).rejects.toThrow()
  expect(names()).toEqual([])
})

test('a failing read does not affect other reads', async () => {
  const { reader } = openStore()
  const told = await Promise.allSettled([
    namesOf(reader),
    reader.read((db) => sql.raw('select nothing').execute(db)),
    reader.read(() => {
      throw new RangeError('refused')
    }),
    namesOf(reader),
  ])
  expect(told.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
})

test('a read that awaits something else is refused by name, and its connection is released', async () => {
  const { reader } = openStore()
  const zombie = Promise.withResolvers<unknown>()
  const overrun = reader.read(async (db) => {
    await immediate()
    await db.selectFrom('owner_users').selectAll().execute().then(zombie.resolve, zombie.resolve)
  })
  const neighbour = namesOf(reader)
  await expect(overrun).rejects.toBeInstanceOf(UnitOverrunError)
  expect(await zombie.promise).toBeInstanceOf(UnitEndedError)
  expect(await neighbour).toEqual([])
})

test('an endless series of reads does not starve the event loop', async () => {
  const { path } = openStore()
  const reader = createReader({ path, maxPerTurn: 10 })
  let turned = false
  setImmediate(() => {
    turned = true
  })
  let reads = 0
  while (!turned) {
    await namesOf(reader)
    reads += 1
  }
  expect(reads).toBeLessThanOrEqual(11)
  await reader.close()
})

test('closing finishes accepted reads and refuses later ones', async () => {
  const { path } = openStore()
  const reader = createReader({ path })
  const asked = namesOf(reader)
  const closed = reader.close()
  await expect(namesOf(reader)).rejects.toMatchObject({ code: 'unavailable' })
  expect(await asked).toEqual([])
  await closed
})
