/**
 * The baseline replaced 47 migrations. A fresh database has the schema that they made, and a database that
 * records all of them opens with its rows. For kills while the record is replaced see
 * test/faults/migration-kills.test.ts.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import type { AuditQuery } from '../../../sdk/contract/owner/audit.ts'
import { generateKeyPair } from '../../../sdk/signing/keys.ts'
import { recordsQuery } from '../../../server/audit-reading/queries.ts'
import { readConfig } from '../../../server/config.ts'
import { MigrationHistoryError, NewerDatabaseError } from '../../../server/database/migration-history.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import { baselineLength, replacedNames } from '../../../server/database/migrations/replaced.ts'
import { compileOnly } from '../../../server/database/sqlite/dialect.ts'
import { migrate, migrationStatus } from '../../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { startServer } from '../../../server/server.ts'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { makeEnvelopeKey } from '../../../server/storage/envelope-keys.ts'
import { TestAgent } from '../../support/agent.ts'
import { testClock } from '../../support/clock.ts'
import { onSqlite } from '../../support/one-store.ts'
import { stored } from '../../support/stored.ts'
import { databaseBeforeBaseline, writtenAt } from './before-baseline.ts'
import { temporaryFolder } from './store.ts'

const clock = () => new Date(writtenAt.getTime() + 60_000)

function oldDatabase(folder = temporaryFolder()): Database.Database {
  const database = databaseBeforeBaseline(databasePath(folder))
  onTestFinished(() => void database.close())
  return database
}

const recordedIn = (database: Database.Database) =>
  database.prepare('SELECT number, name, applied_at FROM schema_migrations ORDER BY number').all()

/** Returns the schema without white space, which differs for columns that were added later. */
function schemaOf(database: Database.Database) {
  const rows = database
    .prepare<[], { name: string; sql: string | null }>('SELECT name, sql FROM sqlite_schema ORDER BY name')
    .all()
  return rows.map(({ name, sql }) => [
    name,
    sql?.replace(/\s+/g, ' ').replace(/ ?([(),]) ?/g, '$1'),
    database.prepare('SELECT cid, name, type, pk FROM pragma_table_xinfo(?)').all(name),
  ])
}

/** Returns a map from table to its indexes, in the order in which SQLite considers them. */
const indexesOf = (database: Database.Database) =>
  database
    .prepare(
      'SELECT tbl_name, json_group_array(name) FROM (SELECT * FROM sqlite_schema ORDER BY rowid) GROUP BY 1',
    )
    .all()

test('a fresh database has the tables and indexes of a database made by the replaced migrations', () => {
  const old = oldDatabase()
  const fresh = openDatabase(join(temporaryFolder(), 'bridge.db'))
  onTestFinished(() => void fresh.close())
  migrate(fresh, migrations.slice(0, baselineLength), clock)
  expect(schemaOf(fresh)).toEqual(schemaOf(old))
  expect(indexesOf(fresh)).toEqual(indexesOf(old))
})

const { test: sqliteTest } = onSqlite('test/server/postgres/migrations.test.ts')
sqliteTest(
  'a database that records every replaced migration then records the baseline and keeps its rows',
  () => {
    const folder = temporaryFolder()
    const database = oldDatabase(folder)
    const { schema_migrations: _, ...before } = stored(folder, { served: false })
    const done = migrations.slice(0, baselineLength).map(({ number, name }) => ({ number, name }))
    expect(migrationStatus(database)).toEqual(done.map(({ number }) => number))
    migrate(database, migrations.slice(0, baselineLength), clock)
    const { schema_migrations: __, ...after } = stored(folder, { served: false })
    expect(after).toEqual(before)
    expect(recordedIn(database)).toEqual(
      done.map((each) => ({ ...each, applied_at: '2026-06-01T11:59:00.000Z' })),
    )
    migrate(database, migrations, clock)
    expect(migrationStatus(database)).toEqual(migrations.map(({ number }) => number))
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(database.pragma('foreign_key_check')).toEqual([])
  },
)

test('a server with such a database is ready and serves the rows that its agents wrote', async () => {
  const folder = temporaryFolder()
  const config = readConfig({ data: folder, port: '0', log_level: 'silent', reserve_bytes: '0' }, {})
  makeEnvelopeKey(config.envelopeKeyFile, randomBytes)
  const keys = generateKeyPair()
  const database = databaseBeforeBaseline(databasePath(folder))
  // The private keys of the old agents are not stored here, so ben gets a new key.
  database
    .prepare(
      "UPDATE credentials SET public_key = ? WHERE agent_id = (SELECT id FROM agents WHERE name = 'ben')",
    )
    .run(keys.publicKey)
  const known = database
    .prepare<[], { credential: string; session: string; agent: string; project: string; server: string }>(
      `SELECT credentials.id AS credential, sessions.id AS session, agents.id AS agent, agents.project_id AS project,
          (SELECT server_id FROM server) AS server
        FROM agents JOIN credentials ON credentials.agent_id = agents.id JOIN sessions ON sessions.agent_id = agents.id
        WHERE agents.name = 'ben'`,
    )
    .get()
  database.close()
  if (known === undefined) throw new Error('ben is not in the database')

  const time = testClock(clock())
  const server = await startServer(config, { clock: time, elapsedMs: time.elapsedMs })
  onTestFinished(() => server.stop())
  expect(server.serverId).toBe(known.server)
  expect(await (await fetch(`${server.url}/api/ready`)).json()).toMatchObject({ ready: true })
  const enrolled = {
    server_id: known.server,
    credential_id: known.credential,
    agent: { id: known.agent, name: 'ben' },
    project: { id: known.project },
  }
  const ben = new TestAgent(server.url, keys, enrolled, time)
  ben.session = { id: known.session, generation: 1 }
  const { messages, waiting } = await ben.inbox()
  expect(waiting).toBe(messages.length)
  expect(messages.map(({ body }) => body)).toEqual(expect.arrayContaining(['which branch?', 'which file?']))
  const { tasks } = await ben.ok<{ tasks: { title: string; state: string }[] }>({ target: '/api/v1/tasks' })
  expect(tasks).toMatchObject([
    { title: 'Count', state: 'open' },
    { title: 'Sum', state: 'claimed' },
  ])
  const [first] = messages
  if (first === undefined) throw new Error('the inbox is empty')
  await ben.acknowledge(first.id)
  expect((await ben.inbox()).waiting).toBe(waiting - 1)
})

test.each<[string, (database: Database.Database) => void, new (...args: never[]) => Error, string]>([
  [
    'whose last step is missing',
    (database) => database.exec('DELETE FROM schema_migrations WHERE number = 47'),
    MigrationHistoryError,
    'records 46 of the 47 migrations that a baseline replaced',
  ],
  [
    'that stopped after 13 steps, whose numbers the baseline has too',
    (database) => database.exec('DELETE FROM schema_migrations WHERE number > 13'),
    MigrationHistoryError,
    'records 13 of the 47 migrations',
  ],
  [
    'with another name under a number',
    (database) => database.exec("UPDATE schema_migrations SET name = 'x' WHERE number = 20"),
    NewerDatabaseError,
    '047_steady_clock',
  ],
  [
    'with one step more than the replaced ones',
    (database) => database.exec("INSERT INTO schema_migrations VALUES (48, 'next', '2026-06-02')"),
    NewerDatabaseError,
    '048_next',
  ],
])(
  'a database with a deviating list of replaced migrations is refused unchanged: one %s',
  (_, change, kind, says) => {
    const database = oldDatabase()
    change(database)
    const before = [recordedIn(database), schemaOf(database)]
    expect(() => migrate(database, migrations, clock)).toThrow(kind)
    expect(() => migrate(database, migrations, clock)).toThrow(says)
    expect([recordedIn(database), schemaOf(database)]).toEqual(before)
  },
)

test('the replaced list and the baseline differ in their first step, so neither is mistaken for the other', () => {
  expect(replacedNames).toHaveLength(47)
  expect(replacedNames[0]).not.toBe(migrations[0]?.name)
})

test('the audit log of an older store is listed in its original order across projects', () => {
  const database = oldDatabase()
  const id = (number: number) => `019f7d3a-0000-7000-8000-${String(number).padStart(12, '0')}`
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
