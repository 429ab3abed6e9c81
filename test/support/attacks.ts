/** Tables of attacks: every run tries some of the rows, and BRIDGE_ATTACKS=1 tries all of them. */
import { test } from 'vitest'

const all = process.env.BRIDGE_ATTACKS !== undefined

/**
 * Defines one test per row. Without the variable, only every `nth` row runs, starting with the first; the
 * other tests are reported as skipped.
 */
export function eachAttack<R extends readonly unknown[]>(
  nth: number,
  rows: readonly R[],
  title: (...row: R) => string,
  body: (...row: R) => Promise<void>,
): void {
  for (const [at, row] of rows.entries())
    test.skipIf(!all && at % nth !== 0)(title(...row), () => body(...row))
}

/**
 * Returns the rows of a table to try at one of many places. Without the variable, these are every `nth` row.
 * Each place starts at another row, so `nth` places together try the whole table. A place with fewer rows
 * tries one of them.
 */
export function rowsAt<R>(place: number, nth: number, rows: readonly R[]): readonly R[] {
  if (all) return rows
  const some = rows.filter((_, at) => (at + place) % nth === 0)
  return some.length > 0 ? some : rows.filter((_, at) => at === place % rows.length)
}
