/**
 * The clock that claims, transfers and endpoints end by: as the wall clock, but no step of it ends one early or keeps it for
 * ever.
 *
 * - The wall clock is compared with the time that really passed. Where they part by a second or more, somebody set the
 *   clock: the difference becomes the offset, which is taken off.
 * - An end is stored in lease time and shown in wall time, so what is shown moves along with the clock.
 * - The offset outlives the process while a claim is held or a transfer is open; with none it is forgotten.
 *
 * Contract §8 "the state at the server's clock"; §9 `ttl_seconds`.
 */
import type { Kysely } from 'kysely'
import { transferLimits } from '../../sdk/contract/helper/limits.ts'
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

/** Goes on where the last process stopped. What would outlive its lease by a clock set back is cut to it. */
export function openLeaseClock(
  write: Writer['write'],
  clock: () => Date,
  elapsedMs: () => number,
): Promise<LeaseClock> {
  return write(async (tx) => {
    const claims = await heldClaims(tx)
    const transfers = await openTransfers(tx)
    const isNeeded = claims.length > 0 || transfers.length > 0
    const leases = createLeaseClock(clock, elapsedMs, isNeeded ? await readOffset(tx.db) : 0)
    const now = leases.at(tx.now).getTime()
    const after = (ms: number) => new Date(now + ms).toISOString()
    for (const { id, claim_ttl_seconds, claim_ends_at } of claims) {
      const latest = after(claim_ttl_seconds * 1000)
      if (claim_ends_at !== null && claim_ends_at > latest)
        await tx.db.updateTable('tasks').set({ claim_ends_at: latest }).where('id', '=', id).execute()
    }
    for (const { id, created_at, expires_at, ends_at } of transfers) {
      const latest = after(Date.parse(expires_at) - Date.parse(created_at))
      if (ends_at !== null && ends_at > latest)
        await tx.db.updateTable('transfers').set({ ends_at: latest }).where('id', '=', id).execute()
    }
    const latest = after(transferLimits.ttlSeconds.max * 1000)
    await tx.db
      .updateTable('transfer_secrets')
      .set({ expires_at: latest })
      .where('expires_at', '>', latest)
      .execute()
    await keepOffset(tx, leases)
    return leases
  })
}

const heldClaims = (tx: Tx) =>
  tx.db
    .selectFrom('tasks')
    .select(['id', 'claim_ttl_seconds', 'claim_ends_at'])
    .where('claim_ends_at', 'is not', null)
    .execute()

const openTransfers = (tx: Tx) =>
  tx.db
    .selectFrom('transfers')
    .select(['id', 'created_at', 'expires_at', 'ends_at'])
    .where('ends_at', 'is not', null)
    .execute()

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
