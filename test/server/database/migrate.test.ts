import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { MigrationHistoryError, NewerDatabaseError } from '../../../server/database/migration-history.ts'
import { type Migration, migrations, requiredMigrations } from '../../../server/database/migrations/index.ts'
import { MigrationFailedError, migrate, migrationStatus } from '../../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { startChild } from './child.ts'
import { start, temporaryFolder } from './store.ts'
import { places, threeMigrations } from './three-migrations.ts'

const clock = () => start

function emptyDatabase(path = join(temporaryFolder(), 'bridge.db')) {
  const database = openDatabase(path)
  database.function('here', (_place: number) => null)
  onTestFinished(() => void database.close())
  return database
}

const contents = (database: Database.Database) => ({
  recorded: database.prepare('SELECT number, name, applied_at FROM schema_migrations').all(),
  schema: database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
    .all(),
})

test('every migration of the service is recorded, in order, once', () => {
  const database = emptyDatabase()
  migrate(database, migrations, clock)
  const first = contents(database)
  migrate(database, migrations, () => new Date(0))
  expect(contents(database)).toEqual(first)
  expect(migrationStatus(database)).toEqual(migrations.map(({ number }) => number))
  expect(migrationStatus(database)).toEqual(expect.arrayContaining([...requiredMigrations]))
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
})

test('a run without migrations records nothing', () => {
  expect(migrationStatus(emptyDatabase())).toEqual([])
})

test('new migrations are added to the recorded ones', () => {
  const database = emptyDatabase()
  migrate(database, threeMigrations.slice(0, 1), clock)
  expect(migrationStatus(database)).toEqual([1])
  migrate(database, threeMigrations, clock)
  expect(migrationStatus(database)).toEqual([1, 2, 3])
  expect(database.prepare('SELECT * FROM people').all()).toEqual([{ name: '1', age: 2 }])
})

test('an older program refuses a newer database and leaves it unchanged', () => {
  const database = emptyDatabase()
  migrate(database, threeMigrations, clock)
  const before = contents(database)
  expect(() => migrate(database, threeMigrations.slice(0, 2), clock)).toThrow(NewerDatabaseError)
  expect(() => migrate(database, threeMigrations.slice(0, 2), clock)).toThrow('003_by_age')
  expect(contents(database)).toEqual(before)
})

test.each<[string, (recorded: Database.Database) => void]>([
  [
    'another name under a number',
    (database) => database.exec("UPDATE schema_migrations SET name = 'x' WHERE number = 2"),
  ],
  ['a gap', (database) => database.exec('DELETE FROM schema_migrations WHERE number = 1')],
])('a changed history is refused: %s', (_, change) => {
  const database = emptyDatabase()
  migrate(database, threeMigrations.slice(0, 2), clock)
  change(database)
  const before = contents(database)
  expect(() => migrate(database, threeMigrations, clock)).toThrow(MigrationHistoryError)
  expect(contents(database)).toEqual(before)
})

test('a failing migration keeps the steps before it and leaves no trace of its own', () => {
  const database = emptyDatabase()
  const failing: Migration = {
    number: 2,
    name: 'failing',
    sql: 'CREATE TABLE half (x INTEGER); SELECT * FROM nowhere',
  }
  const run = () => migrate(database, [...threeMigrations.slice(0, 1), failing], clock)
  expect(run).toThrow(MigrationFailedError)
  expect(run).toThrow('002_failing')
  expect(migrationStatus(database)).toEqual([1])
  expect(contents(database).schema).not.toContainEqual(expect.objectContaining({ name: 'half' }))
})

test('a migration that ends its transaction is refused, and so is a list out of order', () => {
  const database = emptyDatabase()
  const leaving: Migration = { number: 1, name: 'leaving', sql: 'COMMIT' }
  expect(() => migrate(database, [leaving], clock)).toThrow(MigrationFailedError)
  expect(() => migrate(database, threeMigrations.slice(1), clock)).toThrow(RangeError)
  expect(migrationStatus(database)).toEqual([])
})

test('a run killed at any statement leaves complete steps, and the next run finishes', async () => {
  const whole = emptyDatabase()
  migrate(whole, threeMigrations, clock)
  for (let place = 1; place <= places; place += 1) {
    const path = join(temporaryFolder(), 'bridge.db')
    const killed = startChild('migrate.ts', [path, String(place)])
    expect(await killed.next()).toBe('open')
    expect(await killed.ended()).toBe(null)

    const database = emptyDatabase(path)
    const steps = Math.ceil(place / 2) - 1
    expect(migrationStatus(database)).toEqual([1, 2, 3].slice(0, steps))
    migrate(database, threeMigrations, clock)
    expect(contents(database).schema).toEqual(contents(whole).schema)
    expect(database.prepare('SELECT * FROM people').all()).toEqual([{ name: '1', age: 2 }])
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
  }
})

test('two processes that migrate at the same time apply each step once', async () => {
  const path = join(temporaryFolder(), 'bridge.db')
  const both = [startChild('migrate.ts', [path]), startChild('migrate.ts', [path])]
  expect(await Promise.all(both.map((each) => each.ended()))).toEqual([0, 0])
  const database = emptyDatabase(path)
  expect(migrationStatus(database)).toEqual([1, 2, 3])
  expect(database.prepare('SELECT * FROM people').all()).toEqual([{ name: '1', age: 2 }])
})
