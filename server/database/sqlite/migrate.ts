/**
 * Applies the migrations that the database lacks.
 *
 * - One transaction applies a migration and records it. So a run after a kill resumes where the last one
 *   stopped, and two processes that start at the same time apply each migration once.
 * - The recorded migrations must be the beginning of this program's list. If the database records more
 *   migrations, it is newer. If a number has another name, it has another history. `migrate` refuses both and
 *   changes nothing.
 * - If the database records the migrations that the baseline replaced, `migrate` records the baseline in
 *   their place.
 */
import type Database from 'better-sqlite3'
import {
  label,
  MigrationHistoryError,
  NewerDatabaseError,
  type Recorded,
  replacedSteps,
  requireKnown,
  requireNumbered,
} from '../migration-history.ts'
import { type Migration, migrations as ownMigrations } from '../migrations/index.ts'
import { baselineLength, replacedNames } from '../migrations/replaced.ts'

export class MigrationFailedError extends Error {
  override readonly name = 'MigrationFailedError'
}

/** @throws NewerDatabaseError, MigrationHistoryError, MigrationFailedError */
export function migrate(
  database: Database.Database,
  migrations: readonly Migration[],
  clock: () => Date,
): void {
  requireNumbered(migrations)
  const done = recorded(database)
  requireKnown(migrations, done)
  recordBaseline(database)
  database.exec(
    `CREATE TABLE IF NOT EXISTS schema_migrations (
      number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL
    ) STRICT`,
  )
  for (const migration of migrations.slice(done.length)) apply(database, migrations, migration, clock)
}

/** Returns the recorded numbers, lowest first. Readiness compares them with the required ones. */
export function migrationStatus(database: Database.Database): number[] {
  return recorded(database).map(({ number }) => number)
}

/** Returns the error with which `migrate` would refuse the database, or undefined. Changes nothing. */
export function historyProblem(
  database: Database.Database,
  migrations: readonly Migration[],
): NewerDatabaseError | MigrationHistoryError | undefined {
  try {
    requireKnown(migrations, recorded(database))
    return undefined
  } catch (error) {
    if (error instanceof NewerDatabaseError || error instanceof MigrationHistoryError) return error
    throw error
  }
}

function apply(
  database: Database.Database,
  migrations: readonly Migration[],
  { number, name, sql }: Migration,
  clock: () => Date,
): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const done = recorded(database)
    requireKnown(migrations, done)
    if (done.length < number) {
      database.exec(sql)
      if (!database.inTransaction) throw new Error('a migration must not end the transaction it runs in')
      database
        .prepare('INSERT INTO schema_migrations (number, name, applied_at) VALUES (?, ?, ?)')
        .run(number, name, clock().toISOString())
    }
    database.exec('COMMIT')
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK')
    if (error instanceof NewerDatabaseError || error instanceof MigrationHistoryError) throw error
    throw new MigrationFailedError(`migration ${label({ number, name })} failed and was rolled back`, {
      cause: error,
    })
  }
}

/** Returns the recorded migrations. If they are those that the baseline replaced, returns the baseline. */
function recorded(database: Database.Database): readonly Recorded[] {
  const rows = rowsOf(database)
  return isReplaced(rows) ? ownMigrations.slice(0, baselineLength) : rows
}

/** Records the baseline, if the database records the migrations that it replaced. */
function recordBaseline(database: Database.Database): void {
  const replace = database.transaction(() => {
    if (!isReplaced(rowsOf(database))) return
    const appliedAt = database.prepare('SELECT max(applied_at) FROM schema_migrations').pluck().get()
    database.exec('DELETE FROM schema_migrations')
    const add = database.prepare('INSERT INTO schema_migrations (number, name, applied_at) VALUES (?, ?, ?)')
    for (const { number, name } of ownMigrations.slice(0, baselineLength)) add.run(number, name, appliedAt)
  })
  if (isReplaced(rowsOf(database))) replace.immediate()
}

const isReplaced = (rows: readonly Recorded[]): boolean =>
  rows.length === replacedNames.length && replacedSteps(rows) === rows.length

function rowsOf(database: Database.Database): Recorded[] {
  const exists = database.prepare(
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'",
  )
  if (exists.get() === undefined) return []
  return database.prepare<[], Recorded>('SELECT number, name FROM schema_migrations ORDER BY number').all()
}
