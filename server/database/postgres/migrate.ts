/**
 * Makes the tables of an empty database, or applies the migrations that it lacks.
 *
 * One transaction applies a migration and records it, under a lock on the table of migrations. So two
 * processes that start at the same time apply each migration once. The baseline has the shape after the
 * migrations that it records.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Recorded, requireKnown, requireNumbered } from '../migration-history.ts'
import type { Migration } from '../migrations/index.ts'
import { baseline, baselineNumber } from './baseline.ts'
import { type PostgresConnection, postgresCode } from './connection.ts'

/** @throws NewerDatabaseError, MigrationHistoryError; errors of the database */
export async function migrate(
  connection: PostgresConnection,
  migrations: readonly Migration[],
  clock: () => Date,
): Promise<void> {
  requireNumbered(migrations)
  await makeTable(connection)
  const isNew = (await recordedMigrations(connection)).length === 0
  for (;;) {
    const done = await untilFree((lockMs) =>
      inTransaction(connection, () => step(connection, migrations, { clock, lockMs })),
    )
    if (done >= migrations.length) return
    if (!isNew) await sleep(betweenMs)
  }
}

/** Pause between two steps of a database in use. The queries that waited for the first step go on in it. */
const betweenMs = 100

/**
 * A step waits this long for a table, and longer with each attempt. Meanwhile every query on the tables that it
 * has locked waits too.
 */
const lockWithinMs = (attempt: number): number => Math.min(200 + 20 * attempt, 1000)
const pauseMs = 300
const patienceMs = 120_000

/**
 * Runs a step again that found a table in use. Nodes that serve meanwhile lock tables in another order. Between
 * two attempts their queries go on.
 */
async function untilFree<T>(act: (lockMs: number) => Promise<T>): Promise<T> {
  let waitedMs = 0
  for (let attempt = 0; ; attempt += 1) {
    const lockMs = lockWithinMs(attempt)
    try {
      return await act(lockMs)
    } catch (error) {
      const isInUse = ['40P01', '55P03'].includes(postgresCode(error) ?? '')
      if (!isInUse || waitedMs > patienceMs) throw error
      await sleep(pauseMs)
      waitedMs += lockMs + pauseMs
    }
  }
}

/** Returns the recorded migrations, lowest first. None if the database is empty. */
export async function recordedMigrations(connection: PostgresConnection): Promise<Recorded[]> {
  const { rows: found } = await connection.query<{ exists: number }>({
    text: "SELECT to_regclass('schema_migrations') IS NOT NULL AS exists",
  })
  if (found[0]?.exists !== 1) return []
  const { rows } = await connection.query<Recorded>({
    text: 'SELECT number, name FROM schema_migrations ORDER BY number',
  })
  return rows
}

/** Applies the next migration, or the baseline. Returns how many are recorded afterwards. */
async function step(
  connection: PostgresConnection,
  migrations: readonly Migration[],
  { clock, lockMs }: { readonly clock: () => Date; readonly lockMs: number },
): Promise<number> {
  await connection.query({ text: `SET LOCAL lock_timeout = ${lockMs}` })
  await connection.query({ text: 'LOCK TABLE schema_migrations IN ACCESS EXCLUSIVE MODE' })
  const done = await recordedMigrations(connection)
  requireKnown(migrations, done)
  const next =
    done.length === 0 ? migrations.slice(0, baselineNumber) : migrations.slice(done.length).slice(0, 1)
  if (next.length === 0) return done.length
  await connection.query({ text: done.length === 0 ? baseline : stepOf(next[0]) })
  await connection.query({
    text: `INSERT INTO schema_migrations (number, name, applied_at)
      SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])`,
    values: [
      next.map(({ number }) => number),
      next.map(({ name }) => name),
      next.map(() => clock().toISOString()),
    ],
  })
  return done.length + next.length
}

function stepOf(migration: Migration | undefined): string {
  if (migration?.postgres !== undefined) return migration.postgres
  throw new Error(`migration ${migration?.name} has no step for PostgreSQL`)
}

async function makeTable(connection: PostgresConnection): Promise<void> {
  const text = `CREATE TABLE IF NOT EXISTS schema_migrations (
    number bigint PRIMARY KEY, name text COLLATE "C" NOT NULL, applied_at text COLLATE "C" NOT NULL)`
  try {
    await connection.query({ text })
  } catch {
    // Another process has made it at the same moment.
    await connection.query({ text })
  }
}

/** A process that stands still loses its locks after 5 s. The nodes that serve meanwhile wait for them. */
const begin = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'"

async function inTransaction<T>(connection: PostgresConnection, act: () => Promise<T>): Promise<T> {
  await connection.query({ text: begin })
  try {
    const result = await act()
    await connection.query({ text: 'COMMIT' })
    return result
  } catch (error) {
    if (!connection.isBroken) await connection.query({ text: 'ROLLBACK' }).catch(() => {})
    throw error
  }
}
