/** Failures of a whole group: a full disk, a transaction that SQLite ended, a failing COMMIT. */
import { statSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Nonce } from '../../../server/database/nonces.ts'
import { add, openStore, outcomes, start } from './store.ts'

const nonce: Nonce = {
  credentialId: 'c',
  nonce: 'n'.repeat(22),
  signedAt: Math.floor(start.getTime() / 1000),
}
const large = 'x'.repeat(500_000)

/** Causes a real SQLITE_FULL by limiting the size of the file. */
function fill(database: Database.Database): () => void {
  const pages = database.pragma('page_count', { simple: true })
  database.pragma(`max_page_count = ${pages}`)
  return () => database.pragma('max_page_count = 1000000')
}

test('SQLite ends the transaction by itself on a full disk', () => {
  const { database } = openStore()
  fill(database)
  database.exec('BEGIN IMMEDIATE; SAVEPOINT unit')
  const insert = database.prepare(
    `INSERT INTO idempotency (principal, method, route, key, fingerprint, answer, created_at)
      VALUES ('p', 'POST', '/x', 'k', x'00', ?, '')`,
  )
  expect(() => insert.run(large)).toThrow(expect.objectContaining({ code: 'SQLITE_FULL' }))
  expect(database.inTransaction).toBe(false)
  expect(() => database.exec('ROLLBACK TO unit')).toThrow('no such savepoint')
})

test('a full disk fails the whole group without storing or notifying; with free space, writing works again', async () => {
  const { writer, database, names, fatal } = openStore()
  const free = fill(database)
  let woken = false
  const group = () => [
    writer.write(
      async (tx) => {
        await add(tx, 'ada')
        tx.afterCommit(() => {
          woken = true
        })
      },
      { nonce },
    ),
    writer.write((tx) => add(tx, 'ben', large)),
    writer.write((tx) => add(tx, 'cleo')),
  ]
  expect(await outcomes(group())).toEqual(['storage_full', 'storage_full', 'storage_full'])
  expect(names()).toEqual([])
  expect(woken).toBe(false)
  expect(writer.state()).toBe('full')
  expect(fatal).toEqual([])
  expect(writer.stats()).toMatchObject({ groups: 0, failedGroups: 1 })

  free()
  expect(await outcomes(group())).toEqual(['done', 'done', 'done'])
  expect(names()).toEqual(['ada', 'ben', 'cleo'])
  expect(writer.state()).toBe('open')
})

test('a unit that swallows the error of a full disk cannot continue, and neither can the other units', async () => {
  const { writer, database, names } = openStore()
  fill(database)
  const told = await outcomes([
    writer.write(async (tx) => {
      await add(tx, 'ada', large).catch(() => undefined)
      await add(tx, 'ben').catch(() => undefined)
    }),
    writer.write((tx) => add(tx, 'cleo')),
  ])
  expect(told).toEqual(['storage_full', 'storage_full'])
  expect(names()).toEqual([])
})

test('a full disk met while a nonce is spent fails the group too', async () => {
  const { writer, database, bystander } = openStore({ maxGroup: 1000 })
  fill(database)
  const crowd = Array.from({ length: 1000 }, (_, index) =>
    writer.write(async () => undefined, { nonce: { ...nonce, nonce: `${'n'.repeat(22)}${index}` } }),
  )
  expect(new Set(await outcomes(crowd))).toEqual(new Set(['storage_full']))
  expect(bystander.prepare('SELECT count(*) FROM nonces').pluck().get()).toBe(0)
})

test('a unit that makes SQLite end the transaction fails its group, and the next group is served', async () => {
  const { writer, names, fatal } = openStore()
  const told = await outcomes([
    writer.write((tx) => add(tx, 'ada')),
    writer.write(async (tx) => {
      const replay = sql`insert or rollback into replay_floor (one, floor) values (1, 0)`
      await replay.execute(tx.db).catch(() => undefined)
      await add(tx, 'alone').catch(() => undefined)
    }),
  ])
  expect(told).toEqual(['unavailable', 'unavailable'])
  expect(fatal).toEqual([])
  await writer.write((tx) => add(tx, 'ben'))
  expect(names()).toEqual(['ben'])
})

const deferred = (database: Database.Database) =>
  database.exec(
    `CREATE TABLE later (user_id TEXT REFERENCES owner_users (id) DEFERRABLE INITIALLY DEFERRED) STRICT`,
  )

test('a failing COMMIT answers 503 to all, notifies no one, and stops all writing', async () => {
  const { writer, names, fatal } = openStore({ before: deferred })
  let woken = false
  const waiting = Promise.withResolvers<string[]>()
  const told = await outcomes([
    writer.write(async (tx) => {
      await add(tx, 'ada')
      tx.afterCommit(() => {
        woken = true
      })
    }),
    writer.write(async (tx) => {
      await sql`insert into later (user_id) values ('nobody')`.execute(tx.db)
      waiting.resolve(outcomes([writer.write((tx) => add(tx, 'waiting'))]))
    }),
  ])
  expect(told).toEqual(['unavailable', 'unavailable'])
  expect(await waiting.promise).toEqual(['unavailable'])
  expect(woken).toBe(false)
  expect(fatal).toEqual([expect.objectContaining({ code: 'SQLITE_CONSTRAINT_FOREIGNKEY' })])
  expect(writer.state()).toBe('broken')
  expect(await outcomes([writer.write((tx) => add(tx, 'late'))])).toEqual(['unavailable'])
  expect(names()).toEqual([])
})

test('a store that another process writes to for too long refuses writes and recovers', async () => {
  const { writer, database, path, names, fatal } = openStore()
  database.pragma('busy_timeout = 0')
  const { default: Sqlite } = await import('better-sqlite3')
  const other = new Sqlite(path)
  other.exec('BEGIN IMMEDIATE')
  expect(await outcomes([writer.write((tx) => add(tx, 'ada'))])).toEqual(['unavailable'])
  other.exec('ROLLBACK')
  other.close()
  await writer.write((tx) => add(tx, 'ben'))
  expect(names()).toEqual(['ben'])
  expect(fatal).toEqual([])
})

test('the first group that meets a full disk reports it before it is answered; only new data requests space', async () => {
  const order: string[] = []
  const { writer, database, names, bystander } = openStore({
    onFull: () => order.push('full'),
    isStorageFull: () => order.length > 0,
  })
  const free = fill(database)
  await expect(writer.write((tx) => add(tx, 'ada', large))).rejects.toMatchObject({ code: 'storage_full' })
  expect(order).toEqual(['full'])
  free()
  const news = writer.write(
    async (tx) => {
      tx.requireFreeSpace()
      await add(tx, 'news')
    },
    { nonce },
  )
  expect(await outcomes([news, writer.write((tx) => add(tx, 'ben'))])).toEqual(['storage_full', 'done'])
  expect(names()).toEqual(['ben'])
  expect(bystander.prepare('SELECT count(*) FROM nonces').pluck().get()).toBe(1)
})

test('a checkpoint frees the space of the WAL unless a reader holds it; deleted rows free space inside the file', async () => {
  const { writer, path, bystander } = openStore()
  await writer.write((tx) => add(tx, 'ada', large))
  expect(await writer.checkpoint()).toBe(true)
  expect(statSync(`${path}-wal`).size).toBe(0)
  const unused = writer.unusedBytes()
  await writer.write((tx) => tx.db.deleteFrom('owner_users').execute())
  expect(writer.unusedBytes() - unused).toBeGreaterThan(large.length * 0.9)
  bystander.exec('BEGIN; SELECT count(*) FROM owner_users')
  await writer.write((tx) => add(tx, 'ben'))
  expect(await writer.checkpoint()).toBe(false)
  bystander.exec('COMMIT')
  expect(await writer.checkpoint()).toBe(true)
})
