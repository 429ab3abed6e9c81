/** SQL of acknowledgements, by exact message ids. */
import { sql } from 'kysely'
import { prepared } from '../database/prepared.ts'
import type { Tx } from '../database/tx.ts'

/** The recipient of the messages: an agent's inbox, or the owner, for messages of one project's agents. */
export type Recipient = { readonly agentId: string } | { readonly ownerOf: string }

export interface Found {
  readonly id: string
  readonly acknowledged_at: string | null
  readonly sender_kind: 'agent' | 'owner' | 'system'
  readonly sender_agent_id: string | null
}

const inInbox = prepared<{ id: string; agent_id: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', 'acknowledged_at', 'sender_kind', 'sender_agent_id'])
    .where('id', '=', p('id'))
    .where('inbox_agent_id', '=', p('agent_id')),
)

const toOwner = prepared<{ id: string; project_id: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', 'acknowledged_at', 'sender_kind', 'sender_agent_id'])
    .where('id', '=', p('id'))
    .where('project_id', '=', p('project_id'))
    .where('recipient_kind', '=', 'owner'),
)

/** Returns the messages of the recipient that have one of the ids. */
export async function findAddressed(tx: Tx, recipient: Recipient, ids: readonly string[]): Promise<Found[]> {
  const found = await Promise.all(
    ids.map((id) =>
      'agentId' in recipient
        ? inInbox.first(tx.db, { id, agent_id: recipient.agentId })
        : toOwner.first(tx.db, { id, project_id: recipient.ownerOf }),
    ),
  )
  return found.filter((message) => message !== undefined)
}

const acknowledge = prepared<{ id: string; now: string }>()((db, p) =>
  db
    .updateTable('messages')
    .set((eb) => ({
      acknowledged_at: p('now'),
      first_offered_at: eb.fn.coalesce('first_offered_at', sql<string>`${p('now')}`),
      offers: eb.case().when('offers', '=', 0).then(1).else(eb.ref('offers')).end(),
    }))
    .where('id', '=', p('id')),
)

/**
 * Marks messages as acknowledged. An acknowledgement proves an offer, even if the flush has not been recorded
 * yet.
 */
export async function markAcknowledged(tx: Tx, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => acknowledge.run(tx.db, { id, now: tx.nowIso })))
}

const subtractWaiting = prepared<{ agent_id: string; count: number }>()((db, p) =>
  db
    .updateTable('inboxes')
    .set((eb) => ({ waiting: eb('waiting', '-', p('count')) }))
    .where('agent_id', '=', p('agent_id')),
)

export async function subtractFromInbox(tx: Tx, agentId: string, acknowledged: number): Promise<void> {
  await subtractWaiting.run(tx.db, { agent_id: agentId, count: acknowledged })
}
