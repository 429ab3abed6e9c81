/** Compares the migrations that a database records with those of this program. */
import type { Migration } from './migrations/index.ts'
import { replacedNames } from './migrations/replaced.ts'

/** A newer program has migrated the database. */
export class NewerDatabaseError extends Error {
  override readonly name = 'NewerDatabaseError'
}

/** The recorded migrations are not those of this program. */
export class MigrationHistoryError extends Error {
  override readonly name = 'MigrationHistoryError'
}

export interface Recorded {
  readonly number: number
  readonly name: string
}

/** Returns how many rows, counted from the first, are migrations that the baseline replaced. */
export function replacedSteps(rows: readonly Recorded[]): number {
  const other = rows.findIndex(
    ({ number, name }, index) => number !== index + 1 || name !== replacedNames[index],
  )
  return other === -1 ? rows.length : other
}

/** @throws NewerDatabaseError, MigrationHistoryError */
export function requireKnown(migrations: readonly Migration[], done: readonly Recorded[]): void {
  const replaced = replacedSteps(done)
  if (replaced > 0 && replaced === done.length) {
    throw new MigrationHistoryError(
      `the database records ${replaced} of the ${replacedNames.length} migrations that a baseline replaced; first run the last program that has all of them`,
    )
  }
  const newest = done.at(-1)
  if (newest !== undefined && newest.number > migrations.length) {
    throw new NewerDatabaseError(
      `the database is at migration ${label(newest)}, but this program only knows ${migrations.length}; run the newer program`,
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

export function requireNumbered(migrations: readonly Migration[]): void {
  const wrong = migrations.find(({ number }, index) => number !== index + 1)
  if (wrong !== undefined)
    throw new RangeError(`migrations are numbered 1, 2, 3 …; out of place: ${label(wrong)}`)
}

export const label = ({ number, name }: Recorded): string => `${String(number).padStart(3, '0')}_${name}`
