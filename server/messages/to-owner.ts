/** SQL of the messages to the owner that nobody acknowledged. Contract §10. */
import { sql } from 'kysely'
import type { Conversation } from '../../sdk/contract/agent/conversations.ts'
import { agentMessageTypes } from '../../sdk/contract/agent/messages.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { OwnerInboxMessage } from '../../sdk/contract/owner/messages.ts'
import { listByIds, toConversation } from '../conversations/store.ts'
import { beforeAll, type Page, type PageQuery, toPage } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { pageOfPart } from '../database/sql.ts'
import type { Db, MessageRow } from '../database/tables.ts'
import { toMessage } from './store.ts'

// A literal instead of parameters, because SQLite uses a partial index only if the query repeats its condition
// literally.
export const isOpenToOwner = sql<boolean>`recipient_kind = 'owner' and acknowledged_at is null`

interface Place {
  readonly project_id: string
  readonly after: string
  readonly limit: number
}

/**
 * Ids of a project after a cursor. The index is in the order (project, type, id), so SQLite merges one sorted
 * list per type.
 */
const openIds = prepared<Place>()((db, p) => {
  const ofType = (type: MessageRow['type']) =>
    db
      .selectFrom('messages')
      .select('id')
      .where('project_id', '=', p('project_id'))
      .where(isOpenToOwner)
      .where('type', '=', sql.lit(type))
      .where('id', '>', p('after'))
      .modifyEnd(pageOfPart(sql.ref('id'), p('limit')))
  return [...agentMessageTypes, 'task' as const]
    .reduce((all, type) => all.unionAll(ofType(type)), ofType('transfer'))
    .orderBy('id')
    .limit(p('limit'))
})

/**
 * Messages to the owner in these projects, oldest first. The cost depends on the number of projects and the
 * size of the page, not on the number of messages.
 */
export async function listToOwner(
  db: Db,
  projectIds: readonly string[],
  { after, limit = limits.pageDefault }: PageQuery,
): Promise<Page<OwnerInboxMessage>> {
  const found: { id: string }[] = []
  for (const project_id of projectIds)
    found.push(...(await openIds.all(db, { project_id, after: after ?? beforeAll, limit: limit + 1 })))
  const ids = found
    .map(({ id }) => id)
    .sort()
    .slice(0, limit + 1)
  const rows = await listMessages(db, ids)
  const conversations = await conversationsOf(db, rows)
  const withConversation = (row: (typeof rows)[number]): OwnerInboxMessage => {
    const conversation = conversations.get(row.conversation_id)
    if (conversation === undefined) throw new Error('the conversation of a message does not exist')
    return { ...toMessage(row), conversation }
  }
  return toPage(rows, limit, after, withConversation)
}

const listMessages = async (db: Db, ids: readonly string[]): Promise<MessageRow[]> =>
  ids.length === 0 ? [] : db.selectFrom('messages').selectAll().where('id', 'in', ids).orderBy('id').execute()

async function conversationsOf(db: Db, rows: readonly MessageRow[]): Promise<Map<string, Conversation>> {
  const ids = new Set(rows.map(({ conversation_id: id }) => id))
  const found = (await listByIds(db, [...ids])).map(toConversation)
  return new Map(found.map((conversation) => [conversation.id, conversation]))
}
