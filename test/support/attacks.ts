/** Tables of attacks: some of the rows in every run, all of them with BRIDGE_ATTACKS=1. What is left out is told as skipped. */
import { test } from 'vitest'

const all = process.env.BRIDGE_ATTACKS !== undefined

/** A test of each row; without the variable of every `nth`, from the first. */
export function eachAttack<R extends readonly unknown[]>(
  nth: number,
  rows: readonly R[],
  title: (...row: R) => string,
  body: (...row: R) => Promise<void>,
): void {
  for (const [at, row] of rows.entries())
    test.skipIf(!all && at % nth !== 0)(title(...row), () => body(...row))
}
