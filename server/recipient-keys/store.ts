/** SQL of recipient keys: one trusted key per agent. */
import type { RecipientKey } from '../../sdk/contract/agent/peers.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'

export const findRecipientKey = (db: Db, agentId: string): Promise<RecipientKey | undefined> =>
  db.selectFrom('recipient_keys').selectAll().where('agent_id', '=', agentId).executeTakeFirst()

export async function putRecipientKey(tx: Tx, key: RecipientKey): Promise<void> {
  const { agent_id: _, ...changed } = key
  await tx.db
    .insertInto('recipient_keys')
    .values(key)
    .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(changed))
    .execute()
}
