/** Known problems of Kysely with better-sqlite3: each test fails if its problem returns. */
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { unitDb } from '../../../server/database/dialect.ts'
import { Statements, UnitConnection } from '../../../server/database/sqlite/connection.ts'
import { UnitOverrunError } from '../../../server/database/unit-overrun.ts'
import { add, openStore, outcomes } from './store.ts'

test('fifty awaited queries run without a setImmediate or nextTick callback in between', async () => {
  const { writer } = openStore()
  const between: string[] = []
  await writer.write(async (tx) => {
    setImmediate(() => between.push('immediate'))
    process.nextTick(() => between.push('tick'))
    for (let count = 0; count < 50; count += 1) await tx.db.selectFrom('owner_users').selectAll().execute()
    expect(between).toEqual([])
  })
})

test('a write inside a unit is refused by name instead of deadlocking, and the writer continues', async () => {
  const { writer, names } = openStore()
  const nested = writer.write(() => writer.write((tx) => add(tx, 'ada')))
  const neighbour = writer.write((tx) => add(tx, 'ben'))
  await expect(nested).rejects.toBeInstanceOf(UnitOverrunError)
  await neighbour
  await writer.write((tx) => add(tx, 'cleo'))
  expect(names()).toEqual(['ada', 'ben', 'cleo'])
})

test('a unit cannot begin, end or leave transactions', async () => {
  const { writer, names } = openStore()
  const refused = await outcomes([
    writer.write((tx) => tx.db.transaction().execute(async () => undefined)),
    writer.write((tx) => tx.db.connection().execute(async () => undefined)),
    ...[
      'begin',
      'commit',
      'rollback',
      'savepoint unit',
      'release unit',
      '/* */ commit',
      'pragma user_version = 7',
    ].map((text) => writer.write((tx) => sql.raw(text).execute(tx.db))),
  ])
  expect(refused).toEqual(refused.map(() => 'Error'))
  await writer.write((tx) => add(tx, 'ada'))
  expect(names()).toEqual(['ada'])
})

test('no reader sees uncommitted data', async () => {
  const { writer, reader, names } = openStore()
  const count = () => reader.read((db) => db.selectFrom('owner_users').select('name').execute())
  await writer.write(async (tx) => {
    await add(tx, 'ada')
    expect(await tx.db.selectFrom('owner_users').select('name').execute()).toHaveLength(1)
    expect(await count()).toEqual([])
    expect(names()).toEqual([])
  })
  expect(await count()).toEqual([{ name: 'ada' }])
})

test('a unit has the write lock before its first statement', async () => {
  const { writer, path } = openStore()
  const other = new Database(path, { timeout: 0 })
  await writer.write(async () => {
    expect(() => other.exec('BEGIN IMMEDIATE')).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }))
  })
  other.exec('BEGIN IMMEDIATE; ROLLBACK')
  other.close()
})

function countedStatements(kept?: number) {
  const database = new Database(':memory:')
  const asked: string[] = []
  const statements = new Statements(
    new Proxy(database, {
      get(target, name) {
        if (name !== 'prepare') return Reflect.get(target, name)
        return (text: string) => {
          asked.push(text)
          return target.prepare(text)
        }
      },
    }),
    kept,
  )
  const connection = new UnitConnection(statements)
  database.exec('CREATE TABLE t (x INTEGER) STRICT; BEGIN')
  return { asked, statements, run: (text: string) => sql.raw(text).execute(unitDb(connection)) }
}

test('the same SQL is prepared once', async () => {
  const { asked, run } = countedStatements()
  for (let count = 0; count < 10; count += 1) await run('select 1')
  await run('select 2')
  expect(asked).toEqual(['select 1', 'select 2'])
})

test('the cache of prepared statements is bounded and evicts the oldest first', async () => {
  const { asked, statements, run } = countedStatements(3)
  for (const text of ['select 1', 'select 2', 'select 3', 'select 4', 'select 4', 'select 1']) await run(text)
  expect(statements.size).toBe(3)
  expect(asked).toEqual(['select 1', 'select 2', 'select 3', 'select 4', 'select 1'])
})

test('the number of affected rows is a bigint', async () => {
  const { writer } = openStore()
  await writer.write(async (tx) => {
    for (const name of ['ada', 'ben', 'cleo']) await add(tx, name)
    const update = (names: string[]) =>
      tx.db
        .updateTable('owner_users')
        .set({ state: 'disabled' })
        .where('name', 'in', names)
        .executeTakeFirst()
    expect((await update(['ada', 'ben'])).numUpdatedRows).toBe(2n)
    expect((await update(['nobody'])).numUpdatedRows).toBe(0n)
    const again = tx.db
      .insertInto('replay_floor')
      .values({ one: 1, floor: 5 })
      .onConflict((conflict) => conflict.doNothing())
    expect((await again.executeTakeFirst()).numInsertedOrUpdatedRows).toBe(0n)
    const removed = tx.db.deleteFrom('owner_users').where('name', '!=', 'ada')
    expect((await tx.db.executeQuery(removed.returning('name'))).numAffectedRows).toBe(2n)
    expect((await removed.executeTakeFirst()).numDeletedRows).toBe(0n)
  })
})

test('streaming is refused, and later queries are not blocked', async () => {
  const { writer, names } = openStore()
  await writer.write(async (tx) => {
    const rows = tx.db.selectFrom('owner_users').selectAll().stream()
    await expect(rows.next()).rejects.toThrow(/streaming is not supported/)
    await add(tx, 'ada')
  })
  expect(names()).toEqual(['ada'])
})

test('a query with an abort signal still runs inside its unit', async () => {
  const { writer } = openStore()
  const { signal } = new AbortController()
  const rows = await writer.write(async (tx) => {
    await add(tx, 'ada')
    return tx.db.selectFrom('owner_users').select('name').execute({ signal })
  })
  expect(rows).toEqual([{ name: 'ada' }])
})
