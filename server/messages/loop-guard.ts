/**
 * Queries of the loop guard: how many messages a sender recently stored in a conversation.
 *
 * An index by sender and time would answer this directly. It costs each send 15 µs and 1.7 more pages in
 * the WAL (26 to 41 µs and 3.0 to 4.6 pages for the insert of a message, in groups of 32). So the guard uses
 * the unique index by sequence:
 *
 * - If the conversation received fewer messages than the budget since then, no count is needed. One lookup by
 *   sequence shows this, which is enough for most sends.
 * - Otherwise a binary search by sequence finds the first message since then. Times increase with the
 *   sequence.
 *
 * Contract §7 "Loop guard".
 */
import { prepared } from '../database/prepared.ts'
import type { Tx } from '../database/tx.ts'

/** Time of the message with this sequence. If retention has deleted it, time of the next one that exists. */
const storedAt = prepared<{ conversation_id: string; sequence: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', 'created_at'])
    .where('conversation_id', '=', p('conversation_id'))
    .where('sequence', '>=', p('sequence'))
    .orderBy('sequence')
    .limit(1),
)

const sentAfter = prepared<{ conversation_id: string; agent_id: string; sequence: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('conversation_id', '=', p('conversation_id'))
    .where('sequence', '>', p('sequence'))
    .where('sender_agent_id', '=', p('agent_id'))
    .where('sender_kind', '=', 'agent'),
)

export interface Recent {
  readonly conversationId: string
  readonly agentId: string
  /** In steady time. */
  readonly since: string
  /** Last sequence of the conversation. */
  readonly lastSequence: number
  /** Below this number the result is 0. */
  readonly budget: number
}

/** Counts the sender's messages since `since`, or returns 0 if the conversation received fewer than the budget. */
export async function countRecent(tx: Tx, recent: Recent): Promise<number> {
  const { conversationId: conversation_id, agentId: agent_id, since, lastSequence, budget } = recent
  const isRecent = async (sequence: number) => {
    const found = await storedAt.first(tx.db, { conversation_id, sequence })
    return found !== undefined && tx.steadyOf(found.id, found.created_at) > since
  }
  if (lastSequence < budget || !(await isRecent(lastSequence - budget + 1))) return 0
  let [older, newer] = [0, lastSequence - budget + 1]
  while (newer - older > 1) {
    const middle = Math.floor((older + newer) / 2)
    if (await isRecent(middle)) newer = middle
    else older = middle
  }
  return (await sentAfter.first(tx.db, { conversation_id, agent_id, sequence: older }))?.count ?? 0
}

const sentNewestFirst = prepared<{ conversation_id: string; agent_id: string; skip: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', 'created_at'])
    .where('conversation_id', '=', p('conversation_id'))
    .where('sender_agent_id', '=', p('agent_id'))
    .where('sender_kind', '=', 'agent')
    .orderBy('sequence', 'desc')
    .limit(1)
    .offset(p('skip')),
)

interface Sender {
  readonly conversationId: string
  readonly agentId: string
}

/** Steady time of the sender's message that is followed by `skip` newer messages of the same sender. */
export async function sentBefore(
  tx: Tx,
  { conversationId: conversation_id, agentId: agent_id, skip }: Sender & { readonly skip: number },
): Promise<string> {
  const found = await sentNewestFirst.first(tx.db, { conversation_id, agent_id, skip })
  if (found === undefined) throw new Error('fewer messages were found than were counted')
  return tx.steadyOf(found.id, found.created_at)
}

/** Resets the message budget of a conversation, because the owner wrote in it. */
export async function openBudget(tx: Tx, conversationId: string): Promise<void> {
  await tx.db
    .updateTable('conversations')
    .set({ budget_from: tx.steadyIso })
    .where('id', '=', conversationId)
    .execute()
}
