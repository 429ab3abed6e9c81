/** The SQL of acknowledging: exact ids, all or nothing. */
import type { Tx } from '../database/transaction.ts'

/** Whose messages: an agent's inbox, or what agents of one project wrote to the owner. */
export type Recipient = { readonly agentId: string } | { readonly ownerOf: string }

export interface Found {
  readonly id: string
  readonly acknowledged_at: string | null
  readonly sender_kind: 'agent' | 'owner' | 'system'
  readonly sender_agent_id: string | null
}

export async function findAddressed(tx: Tx, recipient: Recipient, ids: readonly string[]): Promise<Found[]> {
  const named = tx.db
    .selectFrom('messages')
    .select(['id', 'acknowledged_at', 'sender_kind', 'sender_agent_id'])
    .where('id', 'in', ids)
  return 'agentId' in recipient
    ? named.where('inbox_agent_id', '=', recipient.agentId).execute()
    : named.where('project_id', '=', recipient.ownerOf).where('recipient_kind', '=', 'owner').execute()
}

/** Acknowledging proves an offer, also when its flush was not recorded yet. */
export async function markAcknowledged(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.db
    .updateTable('messages')
    .set((eb) => ({
      acknowledged_at: tx.nowIso,
      first_offered_at: eb.fn.coalesce('first_offered_at', eb.val(tx.nowIso)),
      offers: eb.case().when('offers', '=', 0).then(1).else(eb.ref('offers')).end(),
    }))
    .where('id', 'in', ids)
    .execute()
}

export async function countOut(tx: Tx, agentId: string, acknowledged: number): Promise<void> {
  await tx.db
    .updateTable('inboxes')
    .set((eb) => ({ waiting: eb('waiting', '-', acknowledged) }))
    .where('agent_id', '=', agentId)
    .execute()
}
