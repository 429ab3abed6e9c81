/** SQL that records which messages were offered to a session. Contract §6. */
import { sql } from 'kysely'
import { prepared } from '../database/prepared.ts'
import type { Tx } from '../database/tx.ts'

const offeredTo = prepared<{ id: string; generation: number; offered_at: string; steady_at: string }>()(
  (db, p) =>
    db
      .updateTable('messages')
      .set((eb) => ({
        offers: eb('offers', '+', 1),
        offered_generation: p('generation'),
        first_offered_at: eb.fn.coalesce('first_offered_at', sql<string>`${p('offered_at')}`),
        last_offered_at: p('steady_at'),
      }))
      .where('id', '=', p('id'))
      .where('acknowledged_at', 'is', null)
      .where('offered_generation', '<=', p('generation')),
)

export interface Offer {
  readonly ids: readonly string[]
  readonly generation: number
  /** In wall time. */
  readonly offered_at: string
  /** The same instant in steady time, which decides when a redelivery is due. */
  readonly steady_at: string
}

/**
 * Records that these messages were offered. A message that was acknowledged before, or offered to a newer
 * session meanwhile, keeps its record.
 */
export async function markOffered(tx: Tx, { ids, ...offer }: Offer): Promise<void> {
  await Promise.all(ids.map((id) => offeredTo.run(tx.db, { id, ...offer })))
}
