/**
 * Rewriting the file (VACUUM): deleted data is no longer on the disk. Contract §10 "rows and stored bytes
 * go".
 */
import { readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { add, openStore, outcomes } from './store.ts'

const secret = 'a text that was taken back'
const holds = (path: string) =>
  [path, `${path}-wal`]
    .filter((file) => readFileSync(file).includes(secret))
    .map((file) => file.slice(path.length))

test('after the rewrite a deleted row is in neither the file nor the WAL', async () => {
  const { writer, path } = openStore()
  await writer.write((tx) => add(tx, 'ada', secret))
  expect(holds(path)).toEqual(['-wal'])
  await writer.write(async (tx) => {
    await tx.db.deleteFrom('owner_users').execute()
  })
  expect(holds(path)).toEqual(['-wal'])
  expect(await writer.scrub(Number.POSITIVE_INFINITY)).toBe(true)
  expect(statSync(`${path}-wal`).size).toBe(0)
  expect(holds(path)).toEqual([])
})

test('the rewrite runs between groups and reads, which all finish', async () => {
  const { writer, reader, names } = openStore({ maxGroup: 5 })
  const writes = Array.from({ length: 50 }, (_, n) => writer.write((tx) => add(tx, `person ${n}`)))
  const folds = Array.from({ length: 5 }, () => writer.scrub(Number.POSITIVE_INFINITY))
  const reads = Array.from({ length: 50 }, () =>
    reader.read((db) => db.selectFrom('owner_users').select('name').execute()),
  )
  expect(new Set(await outcomes([...writes, ...folds, ...reads]))).toEqual(new Set(['done']))
  expect(await Promise.all(folds)).toEqual(Array(5).fill(true))
  expect(names()).toHaveLength(50)
})

test('a reader in another process keeps the WAL, and the answer reports that immediately', async () => {
  const { writer, path, bystander } = openStore()
  await writer.write((tx) => add(tx, 'ada', secret))
  bystander.exec('BEGIN')
  bystander.prepare('SELECT count(*) FROM owner_users').get()
  await writer.write(async (tx) => {
    await tx.db.deleteFrom('owner_users').execute()
  })
  const started = performance.now()
  expect(await writer.scrub(Number.POSITIVE_INFINITY)).toBe(false)
  // The other connections of the store wait for five seconds.
  expect(performance.now() - started).toBeLessThan(4900)
  bystander.exec('COMMIT')
  expect(await writer.scrub(Number.POSITIVE_INFINITY)).toBe(true)
  expect(holds(path)).toEqual([])
})

test('a closed writer does not checkpoint', async () => {
  const { writer } = openStore()
  await writer.close()
  expect(await outcomes([writer.scrub(Number.POSITIVE_INFINITY)])).toEqual(['unavailable'])
})
