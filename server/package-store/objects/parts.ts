/** The record of the parts that an object store holds. */
import type { Db } from '../../database/tables.ts'
import type { Tx } from '../../database/tx.ts'
import type { TransferRow } from '../../database/work-tables.ts'

/** Returns the indices of the recorded parts, in order. */
export async function listParts(db: Db, transferId: string): Promise<number[]> {
  const rows = await db
    .selectFrom('transfer_parts')
    .select('part')
    .where('transfer_id', '=', transferId)
    .orderBy('part')
    .execute()
  return rows.map(({ part }) => part)
}

/** Returns the number of recorded parts, or undefined if the part is recorded already. */
export async function recordPart(tx: Tx, transfer: TransferRow, part: number): Promise<number | undefined> {
  const before = await listParts(tx.db, transfer.id)
  if (before.includes(part)) return undefined
  const row = { transfer_id: transfer.id, part, project_id: transfer.project_id }
  await tx.db.insertInto('transfer_parts').values(row).execute()
  return before.length + 1
}

/**
 * Removes the record of parts whose objects are missing or damaged, unless the package has been completed
 * meanwhile.
 */
export async function forgetParts(tx: Tx, { id }: TransferRow, parts: readonly number[]): Promise<void> {
  const { db } = tx
  const now = await db.selectFrom('transfers').select('stored_at').where('id', '=', id).executeTakeFirst()
  if (now?.stored_at !== null) return
  await db.deleteFrom('transfer_parts').where('transfer_id', '=', id).where('part', 'in', parts).execute()
  const { length: stored_parts } = await listParts(db, id)
  await db.updateTable('transfers').set({ stored_parts }).where('id', '=', id).execute()
}
