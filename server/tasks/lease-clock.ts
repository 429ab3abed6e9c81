/**
 * The clock that leases run by: as the wall clock, but no step of it ends a claim early or keeps one for ever.
 *
 * - The wall clock is compared with the time that really passed. Where they part by a second or more, somebody set the
 *   clock: the difference becomes the offset, which is taken off.
 * - The end of a claim is stored in lease time and shown in wall time, so what is shown moves along with the clock.
 * - The offset outlives the process while a claim is held; with none it is forgotten.
 *
 * Contract §8 "the state at the server's clock".
 */
import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { Tx, Writer } from '../database/transaction.ts'

export interface LeaseClock {
  /** Lease time for an instant of the wall clock that was read just now. */
  at(wall: Date): Date
  /** What to show for a stored instant of lease time. */
  wall(leaseIso: string): string
  readonly offsetMs: number
}

const stepMs = 1000

export function createLeaseClock(clock: () => Date, elapsedMs: () => number, offset = 0): LeaseClock {
  let offsetMs = offset
  const base = clock().getTime() - offset - elapsedMs()
  return {
    at(wall) {
      const apart = wall.getTime() - (base + elapsedMs())
      if (Math.abs(apart - offsetMs) >= stepMs) offsetMs = Math.round(apart)
      return new Date(wall.getTime() - offsetMs)
    },
    wall: (leaseIso) => (offsetMs === 0 ? leaseIso : new Date(Date.parse(leaseIso) + offsetMs).toISOString()),
    get offsetMs() {
      return offsetMs
    },
  }
}

/** Goes on where the last process stopped. A claim that would outlive its lease by a clock set back is cut to it. */
export function openLeaseClock(
  write: Writer['write'],
  clock: () => Date,
  elapsedMs: () => number,
): Promise<LeaseClock> {
  return write(async (tx) => {
    const held = await tx.db
      .selectFrom('tasks')
      .select(['id', 'claim_ttl_seconds', 'claim_ends_at'])
      .where('claim_ends_at', 'is not', null)
      .execute()
    const leases = createLeaseClock(clock, elapsedMs, held.length > 0 ? await readOffset(tx.db) : 0)
    const now = leases.at(tx.now).getTime()
    for (const { id, claim_ttl_seconds, claim_ends_at } of held) {
      const latest = new Date(now + claim_ttl_seconds * 1000).toISOString()
      if (claim_ends_at === null || claim_ends_at <= latest) continue
      await tx.db.updateTable('tasks').set({ claim_ends_at: latest }).where('id', '=', id).execute()
    }
    await keepOffset(tx, leases)
    return leases
  })
}

export async function readOffset(db: Kysely<Tables>): Promise<number> {
  return (await db.selectFrom('lease_clock').select('offset_ms').executeTakeFirst())?.offset_ms ?? 0
}

/** Write the offset down when it is another one than stored. */
export async function keepOffset(tx: Tx, { offsetMs }: LeaseClock): Promise<void> {
  if ((await readOffset(tx.db)) === offsetMs) return
  await tx.db
    .insertInto('lease_clock')
    .values({ one: 1, offset_ms: offsetMs })
    .onConflict((conflict) => conflict.column('one').doUpdateSet({ offset_ms: offsetMs }))
    .execute()
}
