/**
 * Migrations on PostgreSQL: a step that is interrupted leaves no trace, the next start finishes it, and
 * processes that start at the same time apply each step once. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MigrationHistoryError, NewerDatabaseError } from '../../../server/database/migration-history.ts'
import type { Migration } from '../../../server/database/migrations/index.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { migrate, recordedMigrations } from '../../../server/database/postgres/migrate.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { makeDatabase, type TestDatabase } from '../moves/scene.ts'

const clock = () => new Date('2026-11-22T12:00:00.000Z')
const last = migrations.length

/** Two steps after those of this program. The second one waits until a row says that it may end. */
const later: readonly Migration[] = [
  ...migrations,
  { number: last + 1, name: 'first', sql: '', postgres: 'CREATE TABLE of_first (x bigint)' },
  {
    ...{ number: last + 2, name: 'second', sql: '' },
    postgres:
      'CREATE TABLE of_second (x bigint); INSERT INTO of_first VALUES (1); LOCK TABLE gate IN EXCLUSIVE MODE',
  },
]

describe.skipIf(!isOnPostgres)('migrations', () => {
  let database: TestDatabase
  const open = () => PostgresConnection.open({ url: database.url })

  beforeEach(async () => {
    database = await makeDatabase()
    const connection = await open()
    await migrate(connection, migrations, clock)
    await connection.close()
    await database.query('CREATE TABLE gate (x bigint)')
  })
  afterEach(() => database.drop())

  const steps = async () => {
    const rows = await database.query<{ name: string }>(
      `SELECT name FROM schema_migrations WHERE number > ${last} ORDER BY number`,
    )
    const [tables] = await database.query<{ first: string | null; second: string | null }>(
      "SELECT to_regclass('of_first')::text AS first, to_regclass('of_second')::text AS second",
    )
    return { recorded: rows.map(({ name }) => name), ...tables }
  }

  test('a step whose connection is cut leaves no trace, and the next start finishes it', async () => {
    const holder = await open()
    await holder.query({ text: 'BEGIN; LOCK TABLE gate IN EXCLUSIVE MODE' })
    const connection = await open()
    const cut = migrate(connection, later, clock).catch((error: unknown) => error)
    const waiting = () =>
      database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
    await expect.poll(async () => (await waiting()).length).toBeGreaterThan(0)
    expect(await cut).toBeInstanceOf(Error)
    expect(await steps()).toEqual({ recorded: ['first'], first: 'of_first', second: null })
    expect(await database.query('SELECT x FROM of_first')).toEqual([])
    await holder.query({ text: 'COMMIT' })
    await holder.close()
    await connection.close()

    const next = await open()
    await migrate(next, later, clock)
    await next.close()
    expect(await steps()).toEqual({ recorded: ['first', 'second'], first: 'of_first', second: 'of_second' })
    expect(await database.query('SELECT x FROM of_first')).toEqual([{ x: '1' }])
  })

  test('a step that meets a node in another order makes way before PostgreSQL sees a deadlock, and is run again', async () => {
    const node = await open()
    await node.query({ text: "BEGIN; SET LOCAL deadlock_timeout = '60s'; LOCK TABLE gate IN EXCLUSIVE MODE" })
    const connection = await open()
    const migrated = migrate(connection, later, clock)
    const deadlocks = async () => {
      const [row] = await database.query<{ deadlocks: string }>(
        'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
      )
      return Number(row?.deadlocks)
    }
    const isWaiting = () =>
      database.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      )
    await expect.poll(async () => (await isWaiting()).length).toBe(1)
    // The step has written here, and waits for the gate.
    await node.query({ text: 'LOCK TABLE of_first IN EXCLUSIVE MODE' })
    await node.query({ text: 'COMMIT' })
    await migrated
    expect(await deadlocks()).toBe(0)
    expect(await steps()).toEqual({ recorded: ['first', 'second'], first: 'of_first', second: 'of_second' })
    expect(await database.query('SELECT x FROM of_first')).toEqual([{ x: '1' }])
    await node.close()
    await connection.close()
  })

  test('queries of the nodes that serve go on for a tenth of a second between two steps', async () => {
    const connection = await open()
    const recordedMs: number[] = []
    await migrate(connection, later, () => {
      recordedMs.push(performance.now())
      return clock()
    })
    await connection.close()
    const [first = 0, second = 0] = recordedMs
    // Node may end a timer a millisecond early.
    expect(second - first).toBeGreaterThan(98)
  })

  test('processes that start at the same time apply each step once', async () => {
    const connections = await Promise.all(Array.from({ length: 6 }, open))
    await Promise.all(connections.map((connection) => migrate(connection, later, clock)))
    await Promise.all(connections.map((connection) => connection.close()))
    expect(await steps()).toMatchObject({ recorded: ['first', 'second'] })
    expect(await database.query('SELECT x FROM of_first')).toEqual([{ x: '1' }])
  })

  test('a database of a newer program, or of another history, is refused and not changed', async () => {
    const connection = await open()
    await migrate(connection, later, clock)
    const before = await recordedMigrations(connection)
    await expect(migrate(connection, migrations, clock)).rejects.toThrow(NewerDatabaseError)
    await connection.query({ text: `UPDATE schema_migrations SET name = 'other' WHERE number = ${last}` })
    await expect(migrate(connection, later, clock)).rejects.toThrow(MigrationHistoryError)
    expect(await recordedMigrations(connection)).toHaveLength(before.length)
    await connection.close()
  })
})
