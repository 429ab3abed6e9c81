/**
 * The SQL of the loop guard: how many messages a sender put into a conversation lately.
 *
 * An index by sender and time would answer it directly. It costs each send 15 µs and 1.7 more pages in the WAL (26 to 41 µs
 * and 3.0 to 4.6 pages for the insert of a message, in groups of 32). So the guard counts along the unique index of numbers:
 *
 * - A conversation that received fewer messages than the budget since then needs no count. One look by number tells it, and
 *   most sends end there.
 * - Otherwise a binary search over the numbers finds the first message since then. Numbers and times grow together.
 *
 * Contract §7 "Loop guard".
 */
import { prepared } from '../database/prepared.ts'
import type { Tx } from '../database/tx.ts'

/** When the message with this number was stored; the next one that is left, if retention removed it. */
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
  /** The conversation's last number. */
  readonly lastSequence: number
  /** Fewer than this many need not be counted. */
  readonly budget: number
}

/** Counts the sender's messages since then. Answers 0 if the conversation as a whole received fewer than the budget. */
export async function countRecent(tx: Tx, recent: Recent): Promise<number> {
  const { conversationId: conversation_id, agentId: agent_id, since, lastSequence, budget } = recent
  const isRecent = async (sequence: number) => {
    const found = await storedAt.first(tx.db, { conversation_id, sequence })
    return found !== undefined && tx.steadyOf(found.id, found.created_at) > since
  }
  if (lastSequence < budget || !(await isRecent(lastSequence - budget + 1))) return 0
  let [older, younger] = [0, lastSequence - budget + 1]
  while (younger - older > 1) {
    const middle = Math.floor((older + younger) / 2)
    if (await isRecent(middle)) younger = middle
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

/** When the sender's message was stored that `skip` younger messages of the sender follow, in steady time. */
export async function sentBefore(
  tx: Tx,
  { conversationId: conversation_id, agentId: agent_id, skip }: Sender & { readonly skip: number },
): Promise<string> {
  const found = await sentNewestFirst.first(tx.db, { conversation_id, agent_id, skip })
  if (found === undefined) throw new Error('fewer messages were sent than were counted')
  return tx.steadyOf(found.id, found.created_at)
}

/** The owner wrote: earlier messages of agents do not count against their budget here. */
export async function openBudget(tx: Tx, conversationId: string): Promise<void> {
  await tx.db
    .updateTable('conversations')
    .set({ budget_from: tx.steadyIso })
    .where('id', '=', conversationId)
    .execute()
}
