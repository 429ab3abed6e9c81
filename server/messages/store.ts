/** SQL of messages. The queries of the loop guard are in `loop-guard.ts`. */
import type { Message } from '../../sdk/contract/agent/messages.ts'
import { prepared } from '../database/prepared.ts'
import { inOrder, inOrderOf } from '../database/sql.ts'
import type { Db, MessageRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { requireInboxRoom } from './rules.ts'

/** The fields that the sender decides. The others follow from where and when the message is stored. */
export interface NewMessage
  extends Pick<
    MessageRow,
    | 'project_id'
    | 'conversation_id'
    | 'sender_kind'
    | 'sender_agent_id'
    | 'sender_name'
    | 'recipient_kind'
    | 'recipient_agent_id'
    | 'type'
    | 'body'
    | 'encoding'
    | 'in_reply_to'
    | 'hops'
    | 'expects_reply_by'
  > {
  /** Undefined if the message begins a thread. */
  readonly root_id: string | undefined
  /** Task that the service reports on with this message. */
  readonly task_id?: string
  /** Transfer that the service reports on with this message. */
  readonly transfer_id?: string
}

/** The last sequence of a conversation and the number of unacknowledged messages in an inbox. */
const findCounters = prepared<{ conversation_id: string; agent_id: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .leftJoin('inboxes', (join) => join.on('inboxes.agent_id', '=', p('agent_id')))
    .select([inOrderOf('conversations').as('conversation'), 'last_sequence', 'waiting'])
    .where('conversations.id', '=', p('conversation_id')),
)

const setNumber = prepared<{ conversation: number; sequence: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ last_sequence: p('sequence') })
    .where(inOrder, '=', p('conversation')),
)

const setWaiting = prepared<{ agent_id: string; waiting: number }>()((db, p) =>
  db
    .insertInto('inboxes')
    .values({ agent_id: p('agent_id'), waiting: p('waiting') })
    .onConflict((conflict) =>
      conflict.column('agent_id').doUpdateSet((eb) => ({ waiting: eb.ref('excluded.waiting') })),
    ),
)

const insert = prepared<MessageRow>()((db, p) =>
  db.insertInto('messages').values({
    id: p('id'),
    project_id: p('project_id'),
    conversation_id: p('conversation_id'),
    sequence: p('sequence'),
    sender_kind: p('sender_kind'),
    sender_agent_id: p('sender_agent_id'),
    sender_name: p('sender_name'),
    recipient_kind: p('recipient_kind'),
    recipient_agent_id: p('recipient_agent_id'),
    inbox_agent_id: p('inbox_agent_id'),
    type: p('type'),
    body: p('body'),
    encoding: p('encoding'),
    in_reply_to: p('in_reply_to'),
    root_id: p('root_id'),
    hops: p('hops'),
    task_id: p('task_id'),
    transfer_id: p('transfer_id'),
    expects_reply_by: p('expects_reply_by'),
    created_at: p('created_at'),
    offers: 0,
    offered_generation: 0,
  }),
)

/**
 * Stores a message and counts it in its inbox. The sequence comes from a counter of the conversation and not
 * from max + 1, because retention deletes rows and sequences must never repeat. Only the units beside this
 * one change the counters meanwhile, so they are read together and then set, which is faster than updates
 * with `returning`. If the message needs room, it is refused if the inbox is full.
 *
 * @throws capacity_reached, before it writes anything
 */
export async function insertMessage(
  tx: Tx,
  message: NewMessage,
  { needsRoom }: { readonly needsRoom: boolean },
): Promise<MessageRow> {
  const inbox = message.recipient_kind === 'agent' ? message.recipient_agent_id : null
  const { conversation_id } = message
  const counters = await findCounters.first(tx.db, { conversation_id, agent_id: inbox ?? '' })
  if (counters === undefined) throw new Error('the conversation of a new message does not exist')
  // No await from here to the statements, so they are sent in the order of the numbers.
  const sequence = tx.counts.latest(conversation_id, counters.last_sequence) + 1
  const waiting = inbox === null ? 0 : tx.counts.latest(inbox, counters.waiting ?? 0) + 1
  if (needsRoom) requireInboxRoom(waiting)
  tx.counts.set(conversation_id, sequence)
  if (inbox !== null) tx.counts.set(inbox, waiting)
  const id = tx.id()
  const row: MessageRow = {
    ...message,
    id,
    sequence,
    inbox_agent_id: inbox,
    root_id: message.root_id ?? id,
    task_id: message.task_id ?? null,
    transfer_id: message.transfer_id ?? null,
    created_at: tx.nowIso,
    offers: 0,
    offered_generation: 0,
    first_offered_at: null,
    last_offered_at: null,
    acknowledged_at: null,
    answered_at: null,
  }
  await Promise.all([
    setNumber.run(tx.db, { conversation: counters.conversation, sequence }),
    inbox === null ? undefined : setWaiting.run(tx.db, { agent_id: inbox, waiting }),
    insert.run(tx.db, row),
  ])
  return row
}

const parent = prepared<{ id: string; conversation_id: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['root_id', 'hops', 'sender_agent_id', 'expects_reply_by', 'answered_at'])
    .where('id', '=', p('id'))
    .where('conversation_id', '=', p('conversation_id')),
)

/** The fields of the answered message that a reply depends on. */
export const findParent = (db: Db, conversationId: string, id: string) =>
  parent.first(db, { id, conversation_id: conversationId })

const setAnswered = prepared<{ id: string; now: string }>()((db, p) =>
  db
    .updateTable('messages')
    .set({ answered_at: p('now') })
    .where('id', '=', p('id')),
)

/** Marks a message that expects a reply as answered. */
export async function markAnswered(tx: Tx, id: string): Promise<void> {
  await setAnswered.run(tx.db, { id, now: tx.nowIso })
}

/** Returns a message that the agent sent or received in its project. */
export async function findForAgent(
  db: Db,
  projectId: string,
  agentId: string,
  id: string,
): Promise<MessageRow | undefined> {
  return db
    .selectFrom('messages')
    .selectAll()
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .where((eb) =>
      eb.or([
        eb('recipient_agent_id', '=', agentId),
        eb.and([eb('sender_kind', '=', 'agent'), eb('sender_agent_id', '=', agentId)]),
      ]),
    )
    .executeTakeFirst()
}

export interface HistoryRange {
  readonly after?: number | undefined
  readonly before?: number | undefined
  readonly limit: number
}

/** Up to `limit + 1` messages in ascending order: after a sequence, before one, or the latest. */
export async function listHistory(
  db: Db,
  conversationId: string,
  { after, before, limit }: HistoryRange,
): Promise<MessageRow[]> {
  const all = db
    .selectFrom('messages')
    .selectAll()
    .where('conversation_id', '=', conversationId)
    .limit(limit + 1)
  if (after !== undefined) return all.where('sequence', '>', after).orderBy('sequence').execute()
  const earlier = before === undefined ? all : all.where('sequence', '<', before)
  return (await earlier.orderBy('sequence', 'desc').execute()).reverse()
}

export const toMessage = (row: MessageRow): Message => ({
  id: row.id,
  conversation_id: row.conversation_id,
  sequence: row.sequence,
  sender: {
    kind: row.sender_kind,
    // In a message of the service, sender_agent_id is the other agent of the pair, which did not send it.
    ...(row.sender_kind === 'agent' && row.sender_agent_id !== null && { agent_id: row.sender_agent_id }),
    name: row.sender_name,
  },
  recipient: { kind: row.recipient_kind },
  recipient_agent_id: row.recipient_agent_id,
  type: row.type,
  body: row.body,
  encoding: row.encoding,
  in_reply_to: row.in_reply_to,
  root_id: row.root_id,
  hops: row.hops,
  task_id: row.task_id,
  transfer_id: row.transfer_id,
  expects_reply_by: row.expects_reply_by,
  created_at: row.created_at,
  delivery: {
    stored_at: row.created_at,
    first_offered_at: row.first_offered_at,
    offers: row.offers,
    acknowledged_at: row.acknowledged_at,
  },
})
