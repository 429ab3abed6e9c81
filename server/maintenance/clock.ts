import type { Tx } from '../database/tx.ts'

const dayMs = 86_400_000

/** When this process last looked, by both clocks. */
export interface Look {
  readonly wallMs: number
  readonly monotonicMs: number
}

export interface Judgement {
  /** How far the clock moved away from the time that passed. */
  readonly driftMs: number
  readonly isBelievable: boolean
  readonly look: Look
}

/** Notes the time, whatever it judges: what was a jump for this run is where the next one begins. */
export async function judgeClock(tx: Tx, monotonicMs: number, earlier: Look | undefined): Promise<Judgement> {
  const wallMs = tx.now.getTime()
  const expectedMs =
    earlier === undefined ? await lastKnown(tx) : earlier.wallMs + monotonicMs - earlier.monotonicMs
  await noteTime(tx)
  const driftMs = Math.round(wallMs - (expectedMs ?? wallMs))
  return { driftMs, isBelievable: Math.abs(driftMs) <= dayMs, look: { wallMs, monotonicMs } }
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

async function noteTime(tx: Tx): Promise<void> {
  await tx.db
    .insertInto('maintenance')
    .values({ one: 1, looked_at: tx.nowIso })
    .onConflict((conflict) => conflict.column('one').doUpdateSet({ looked_at: tx.nowIso }))
    .execute()
}
