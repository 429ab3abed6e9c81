import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { prepared } from '../../../server/database/prepared.ts'
import type { Tx } from '../../../server/database/tx.ts'
import { add, openStore } from './store.ts'

let built = 0
const find = prepared<{ state: 'enabled' | 'disabled'; least: string; limit: number }>()((db, p) => {
  built += 1
  return db
    .selectFrom('owner_users')
    .select(['name', sql<string>`${p('least')}`.as('least')])
    .where('state', '=', p('state'))
    .where('role', '=', 'administrator')
    .where('name', '>=', p('least'))
    .orderBy('name')
    .limit(p('limit'))
})
const rename = prepared<{ from: string; to: string }>()((db, p) =>
  db
    .updateTable('owner_users')
    .set({ name: p('to') })
    .where('name', '=', p('from')),
)

test('a prepared query is built once and runs with other parameters each time', async () => {
  const { writer, reader } = openStore()
  await writer.write(async (tx) => {
    for (const name of ['ada', 'ben', 'cleo']) await add(tx, name)
  })
  await reader.read(async (db) => {
    expect(await find.all(db, { state: 'enabled', least: 'b', limit: 10 })).toEqual([
      { name: 'ben', least: 'b' },
      { name: 'cleo', least: 'b' },
    ])
    expect(await find.all(db, { state: 'enabled', least: 'a', limit: 1 })).toEqual([
      { name: 'ada', least: 'a' },
    ])
    expect(await find.first(db, { state: 'enabled', least: 'c', limit: 10 })).toEqual({
      name: 'cleo',
      least: 'c',
    })
    expect(await find.first(db, { state: 'disabled', least: 'a', limit: 10 })).toBeUndefined()
  })
  expect(built).toBe(1)
})

test('run returns the number of changed rows as a number', async () => {
  const { writer, names } = openStore()
  await writer.write(async (tx) => {
    await add(tx, 'ada')
    expect(await rename.run(tx.db, { from: 'ada', to: 'ben' })).toBe(1)
    expect(await rename.run(tx.db, { from: 'ada', to: 'cleo' })).toBe(0)
  })
  expect(names()).toEqual(['ben'])
})

test('a missing parameter is refused, not bound as null', async () => {
  const { writer } = openStore()
  const incomplete = { from: 'ada' } as { from: string; to: string }
  await expect(writer.write((tx) => rename.run(tx.db, incomplete))).rejects.toThrow('parameter to is missing')
})

test('a join is planned once, not at every run', async () => {
  const { writer } = openStore()
  const join = (tx: Tx) =>
    tx.db
      .selectFrom('agents')
      .innerJoin('projects', 'projects.id', 'agents.project_id')
      .select('projects.name')
      .where('agents.id', '=', 'x')
  const quickest = (database: Database.Database, text: string) => {
    const statement = database.prepare(text)
    const rounds = Array.from({ length: 20 }, () => {
      const began = performance.now()
      for (let run = 0; run < 100; run += 1) statement.all(`agent-${run}`)
      return performance.now() - began
    })
    return Math.min(...rounds)
  }
  const compiled = await writer.write(async (tx) => join(tx).compile().sql)
  const database = new Database(':memory:')
  database.exec('CREATE TABLE projects (id TEXT PRIMARY KEY, name TEXT, state TEXT)')
  database.exec('CREATE TABLE agents (id TEXT PRIMARY KEY, project_id TEXT)')
  try {
    expect(quickest(database, compiled)).toBeLessThan(quickest(database, compiled.replace('+?', '?')) / 2)
  } finally {
    database.close()
  }
})
