/** Tables of attacks: some of the rows in every run, all of them with BRIDGE_ATTACKS=1. */
import { test } from 'vitest'

const all = process.env.BRIDGE_ATTACKS !== undefined

/** A test of each row; without the variable of every `nth`, from the first. The other tests are reported as skipped. */
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
 * The rows of a table to try at one of many places: without the variable every `nth`. Each place begins at another row,
 * so that `nth` places together try the whole table.
 */
export const rowsAt = <R>(place: number, nth: number, rows: readonly R[]): readonly R[] =>
  all ? rows : rows.filter((_, at) => (at + place) % nth === 0)
