import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import type { AuditQuery } from '../../../sdk/contract/owner/audit.ts'
import { recordsQuery } from '../../../server/audit/queries.ts'
import { compileOnly } from '../../../server/database/dialect.ts'
import {
  MigrationFailedError,
  MigrationHistoryError,
  migrate,
  migrationStatus,
  NewerDatabaseError,
} from '../../../server/database/migrate.ts'
import { type Migration, migrations, requiredMigrations } from '../../../server/database/migrations/index.ts'
import { openDatabase } from '../../../server/database/open.ts'
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

test('ends of transfers that were noted by a clock since set become those of the time that passes', () => {
  const database = emptyDatabase()
  const before = migrations.findIndex(({ name }) => name === 'transfer_leases')
  migrate(database, migrations.slice(0, before), clock)
  database.pragma('foreign_keys = OFF')
  const columns = `id, project_id, conversation_id, sender_agent_id, recipient_agent_id, filename, size, sha256, mode,
    encryption, state, expires_at, ends_at, reserved_bytes, stored_parts, created_at, updated_at, parts`
  const row = `'t', 'p', 'c', 'a', 'b', 'f', 0, 'x', 'package', 'none', 'offered', @end, @end, 0, 0, @end, @end, '[]'`
  database.exec('INSERT INTO lease_clock VALUES (1, 3600500)')
  database
    .prepare(`INSERT INTO transfers (${columns}) VALUES (${row})`)
    .run({ end: '2026-03-01T00:30:00.250Z' })
  migrate(database, migrations.slice(0, before + 1), clock)
  const read = database.prepare('SELECT expires_at, ends_at FROM transfers')
  expect(read.get()).toEqual({
    expires_at: '2026-03-01T00:30:00.250Z',
    ends_at: '2026-02-28T23:29:59.750Z',
  })
  // The steady clock begins as the wall clock, so the offset is added again.
  migrate(database, migrations, clock)
  expect(read.get()).toEqual({
    expires_at: '2026-03-01T00:30:00.250Z',
    ends_at: '2026-03-01T00:30:00.250Z',
  })
  expect(database.prepare('SELECT count(*) FROM steady_clock').pluck().get()).toBe(0)
})

test('questions of an older store that somebody else answered count as answered', () => {
  const database = emptyDatabase()
  const before = migrations.findIndex(({ name }) => name === 'answered')
  migrate(database, migrations.slice(0, before), clock)
  database.pragma('foreign_keys = OFF')
  const columns = `id, project_id, conversation_id, sequence, sender_kind, sender_agent_id, sender_name, recipient_kind,
    recipient_agent_id, inbox_agent_id, type, body, encoding, in_reply_to, root_id, hops, expects_reply_by, created_at,
    offers, offered_generation`
  const add = database.prepare(
    `INSERT INTO messages (${columns}) VALUES (@id, 'p', 'c', @sequence, @kind, @sender, 'x', 'agent', 'to', 'to', @type,
      'b', 'text', @answers, 'r', 0, @by, @at, 0, 0)`,
  )
  const message = (sequence: number, fields: object) =>
    add.run({
      ...{
        id: `m${sequence}`,
        sequence,
        kind: 'agent',
        sender: 'ada',
        type: 'question',
        answers: null,
        by: null,
      },
      ...{ at: `2026-01-01T00:00:0${sequence}.000Z`, ...fields },
    })
  const by = '2026-01-02T00:00:00.000Z'
  for (const sequence of [1, 2, 3]) message(sequence, { by })
  message(4, {})
  message(5, { sender: 'ben', type: 'answer', answers: 'm1' })
  message(6, { sender: 'ben', type: 'note', answers: 'm1' })
  message(7, { type: 'note', answers: 'm2' })
  message(8, { kind: 'owner', sender: null, type: 'note', answers: 'm3' })
  message(9, { sender: 'ben', type: 'answer', answers: 'm4' })
  migrate(database, migrations, clock)
  const answered = database
    .prepare('SELECT id, answered_at FROM messages WHERE answered_at IS NOT NULL')
    .all()
  expect(answered).toEqual([
    { id: 'm1', answered_at: '2026-01-01T00:00:05.000Z' },
    { id: 'm3', answered_at: '2026-01-01T00:00:08.000Z' },
  ])
})

test('an empty database records nothing', () => {
  expect(migrationStatus(emptyDatabase())).toEqual([])
})

test('new migrations are added to those that are recorded', () => {
  const database = emptyDatabase()
  migrate(database, threeMigrations.slice(0, 1), clock)
  expect(migrationStatus(database)).toEqual([1])
  migrate(database, threeMigrations, clock)
  expect(migrationStatus(database)).toEqual([1, 2, 3])
  expect(database.prepare('SELECT * FROM people').all()).toEqual([{ name: '1', age: 2 }])
})

test('the audit of an older store is listed in its order, whatever project came between', () => {
  const database = emptyDatabase()
  migrate(database, migrations.slice(0, 43), clock)
  const id = (number: number) => `019b7d3a-0000-7000-8000-${String(number).padStart(12, '0')}`
  const add = database.prepare(
    "INSERT INTO audit VALUES (?, '', 'message.sent', ?, 'agent', 'ada', 'ada', 'message', NULL, NULL, '{}')",
  )
  for (const number of [1, 2, 3, 4, 5]) add.run(id(number), number === 3 ? 'other' : 'project')
  migrate(database, migrations, clock)
  const listed = (query: AuditQuery) => {
    const { sql, parameters } = recordsQuery(compileOnly, 'project', query).compile()
    return database.prepare<unknown[], { id: string }>(sql).all(...parameters)
  }
  const ids = (query: AuditQuery) => listed(query).map((record) => record.id)
  expect(ids({})).toEqual([1, 2, 4, 5].map(id))
  expect(ids({ after: id(3), actor_id: 'ada' })).toEqual([4, 5].map(id))
  expect(ids({ after: id(3), order: 'newest_first', kind: 'message.sent' })).toEqual([2, 1].map(id))
})

test('an older program refuses a newer database and leaves it as it is', () => {
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

test('a migration that fails leaves the steps before it and nothing of itself', () => {
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

test('a migration that ends its transaction is refused, and a list out of order too', () => {
  const database = emptyDatabase()
  const leaving: Migration = { number: 1, name: 'leaving', sql: 'COMMIT' }
  expect(() => migrate(database, [leaving], clock)).toThrow(MigrationFailedError)
  expect(() => migrate(database, threeMigrations.slice(1), clock)).toThrow(RangeError)
  expect(migrationStatus(database)).toEqual([])
})

test('a run that is killed anywhere leaves whole steps, and the next run finishes', {
  timeout: 60_000,
}, async () => {
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

test('two processes that migrate at once apply each step once', async () => {
  const path = join(temporaryFolder(), 'bridge.db')
  const both = [startChild('migrate.ts', [path]), startChild('migrate.ts', [path])]
  expect(await Promise.all(both.map((each) => each.ended()))).toEqual([0, 0])
  const database = emptyDatabase(path)
  expect(migrationStatus(database)).toEqual([1, 2, 3])
  expect(database.prepare('SELECT * FROM people').all()).toEqual([{ name: '1', age: 2 }])
})
