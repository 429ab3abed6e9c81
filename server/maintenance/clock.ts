import type { Tx } from '../database/tx.ts'

const dayMs = 86_400_000

/** Readings of the wall clock and the monotonic clock. */
export interface ClockReading {
  readonly wallMs: number
  readonly monotonicMs: number
}

export interface Judgement {
  /** How far the wall clock has moved from the expected time. */
  readonly driftMs: number
  readonly isPlausible: boolean
  readonly reading: ClockReading
}

/**
 * Compares the wall clock with the expected time. More than a day apart is implausible, and the caller skips
 * the run. Stores the wall time in either case.
 */
export async function judgeClock(
  tx: Tx,
  monotonicMs: number,
  earlier: ClockReading | undefined,
): Promise<Judgement> {
  const wallMs = tx.now.getTime()
  const expectedMs =
    earlier === undefined ? await lastKnown(tx) : earlier.wallMs + monotonicMs - earlier.monotonicMs
  await storeTime(tx)
  const driftMs = Math.round(wallMs - (expectedMs ?? wallMs))
  return { driftMs, isPlausible: Math.abs(driftMs) <= dayMs, reading: { wallMs, monotonicMs } }
}

async function lastKnown(tx: Tx): Promise<number | undefined> {
  const noted = await tx.db.selectFrom('maintenance').select('looked_at').executeTakeFirst()
  if (noted !== undefined) return Date.parse(noted.looked_at)
  const record = await tx.db
    .selectFrom('audit')
    .select('at')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return record && Date.parse(record.at)
}

async function storeTime(tx: Tx): Promise<void> {
  await tx.db
    .insertInto('maintenance')
    .values({ one: 1, looked_at: tx.nowIso })
    .onConflict((conflict) => conflict.column('one').doUpdateSet({ looked_at: tx.nowIso }))
    .execute()
}
