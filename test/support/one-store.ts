/**
 * Marks tests that run on one of the two stores only.
 *
 * `sqliteOnly` and `onSqlite` mark tests of what only SQLite does: the pages of its file, its WAL, its lock,
 * its plans, and backups. Each mark names the test file that shows the same promise on PostgreSQL.
 * `postgresOnly` marks long files that start PostgreSQL servers of their own: a run on SQLite would only
 * repeat them. `vitest.config.ts` leaves marked files out. `test/contract/stores.test.ts` checks the marks.
 */
import { describe, test } from 'vitest'
import { isOnPostgres } from './postgres.ts'

/** Marks the whole file. Called before its first test. */
export function sqliteOnly(_shownBy: string): void {
  if (isOnPostgres) throw new Error('vitest.config.ts leaves this file out of a run on PostgreSQL')
}

/** Returns the words for marked tests of a file that also runs on PostgreSQL. */
export const onSqlite = (_shownBy: string) => ({
  describe: describe.skipIf(isOnPostgres),
  test: test.skipIf(isOnPostgres),
})

/** Marks the whole file. Called before its first test. */
export function postgresOnly(): void {
  if (!isOnPostgres) throw new Error('vitest.config.ts leaves this file out of a run on SQLite')
}
