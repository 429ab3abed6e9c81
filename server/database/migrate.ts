/**
 * Bringing the store to the shape that this program expects.
 *
 * - Each migration and its record are one transaction: a killed run resumes where it stopped, and two processes that
 *   start at once apply each step once.
 * - What is recorded must be the beginning of this program's list. More than that is a newer database, another name
 *   under a number is another history; both are refused and nothing is changed.
 */
import type Database from 'better-sqlite3'
import type { Migration } from './migrations/index.ts'

/** A newer program has been here. */
export class NewerDatabaseError extends Error {
  override readonly name = 'NewerDatabaseError'
}

/** The recorded migrations are not those of this program. */
export class MigrationHistoryError extends Error {
  override readonly name = 'MigrationHistoryError'
}

export class MigrationFailedError extends Error {
  override readonly name = 'MigrationFailedError'
}

interface Recorded {
  readonly number: number
  readonly name: string
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
  database.exec(
    `CREATE TABLE IF NOT EXISTS schema_migrations (
      number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL
    ) STRICT`,
  )
  for (const migration of migrations.slice(done.length)) apply(database, migrations, migration, clock)
}

/** The numbers recorded, lowest first. Readiness compares them with those it requires. */
export function migrationStatus(database: Database.Database): number[] {
  return recorded(database).map(({ number }) => number)
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
    throw new MigrationFailedError(`migration ${label({ number, name })} failed; nothing of it was kept`, {
      cause: error,
    })
  }
}

function recorded(database: Database.Database): Recorded[] {
  const exists = database.prepare(
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'",
  )
  if (exists.get() === undefined) return []
  return database.prepare<[], Recorded>('SELECT number, name FROM schema_migrations ORDER BY number').all()
}

function requireKnown(migrations: readonly Migration[], done: readonly Recorded[]): void {
  const newest = done.at(-1)
  if (newest !== undefined && newest.number > migrations.length) {
    throw new NewerDatabaseError(
      `the database is at migration ${label(newest)}, this program knows ${migrations.length}; run the newer program`,
    )
  }
  for (const [index, each] of done.entries()) {
    const known = migrations[index]
    if (known?.number === each.number && known.name === each.name) continue
    const expected = known === undefined ? 'nothing' : label(known)
    throw new MigrationHistoryError(
      `the database records migration ${label(each)} where this program has ${expected}`,
    )
  }
}

function requireNumbered(migrations: readonly Migration[]): void {
  const wrong = migrations.find(({ number }, index) => number !== index + 1)
  if (wrong !== undefined)
    throw new RangeError(`migrations are numbered 1, 2, 3 …; out of place: ${label(wrong)}`)
}

const label = ({ number, name }: Recorded): string => `${String(number).padStart(3, '0')}_${name}`
