/**
 * SQL of conversations. Every query is restricted to the project and the participant; no code filters
 * afterwards.
 */
import { sql } from 'kysely'
import type { Conversation } from '../../sdk/contract/agent/conversations.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { conversationColumns } from '../database/columns.ts'
import { beforeAll, type Page, type PageQuery, placeOf, toPage } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { pageOfPart } from '../database/sql.ts'
import type { ConversationRow, Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { pairOf } from './pairs.ts'

type NamedRow = ConversationRow & { name_a: string; name_b: string | null }

// Literals instead of parameters, because SQLite uses a partial index only if the query repeats its condition
// literally.
const isPeers = sql<boolean>`conversations.kind = 'peer'`
const isOwners = sql<boolean>`conversations.kind = 'owner'`

const withNames = (db: Db) =>
  db
    .selectFrom('conversations')
    .innerJoin('agents as a', 'a.id', 'conversations.agent_a')
    .leftJoin('agents as b', 'b.id', 'conversations.agent_b')
    .select(conversationColumns)
    .select(['a.name as name_a', 'b.name as name_b'])

/** A conversation of the agent with the other side and the state of their pairing, which sending needs. */
const forAgent = prepared<{ id: string; project_id: string; agent_id: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .leftJoin('pairings', (join) =>
      join
        .onRef('pairings.agent_a', '=', 'conversations.agent_a')
        .onRef('pairings.agent_b', '=', 'conversations.agent_b'),
    )
    .leftJoin('agents as a', 'a.id', 'conversations.agent_a')
    .leftJoin('agents as b', 'b.id', 'conversations.agent_b')
    .select(conversationColumns)
    .select(['pairings.enabled as pair_enabled', 'a.name as name_a', 'b.name as name_b'])
    .select(['a.state as state_a', 'b.state as state_b'])
    .where('conversations.id', '=', p('id'))
    .where('conversations.project_id', '=', p('project_id'))
    .where((eb) =>
      eb.or([
        eb('conversations.agent_a', '=', p('agent_id')),
        eb('conversations.agent_b', '=', p('agent_id')),
      ]),
    ),
)

export interface ConversationStanding {
  readonly row: NamedRow
  /** The other agent. Undefined in an owner conversation. */
  readonly peer: { readonly id: string; readonly enabled: boolean } | undefined
  readonly paired: boolean
}

/**
 * Returns the conversation as the agent may see it. Undefined if the agent is not a participant in this
 * project.
 */
export async function findForAgent(
  db: Db,
  projectId: string,
  agentId: string,
  id: string,
): Promise<ConversationStanding | undefined> {
  const row = await forAgent.first(db, { id, project_id: projectId, agent_id: agentId })
  if (row === undefined) return undefined
  const named = { ...row, name_a: row.name_a ?? '' }
  if (row.kind === 'owner' || row.agent_b === null) return { row: named, peer: undefined, paired: true }
  const first = row.agent_a === agentId
  return {
    row: named,
    peer: {
      id: first ? row.agent_b : row.agent_a,
      enabled: (first ? row.state_b : row.state_a) === 'enabled',
    },
    paired: row.pair_enabled === 1,
  }
}

const ofPair = prepared<{ agent_a: string; agent_b: string }>()((db, p) =>
  withNames(db).where(isPeers).where('agent_a', '=', p('agent_a')).where('agent_b', '=', p('agent_b')),
)

export function findPeerConversation(db: Db, one: string, other: string): Promise<NamedRow | undefined> {
  return ofPair.first(db, pairOf(one, other))
}

const withOwner = prepared<{ agent_a: string }>()((db, p) =>
  withNames(db).where(isOwners).where('agent_a', '=', p('agent_a')),
)

export const findOwnerConversation = (db: Db, agentId: string): Promise<NamedRow | undefined> =>
  withOwner.first(db, { agent_a: agentId })

export async function findInProject(db: Db, projectId: string, id: string): Promise<NamedRow | undefined> {
  return withNames(db)
    .where('conversations.id', '=', id)
    .where('conversations.project_id', '=', projectId)
    .executeTakeFirst()
}

/** The conversations with these ids, in no order. */
export async function listByIds(db: Db, ids: readonly string[]): Promise<NamedRow[]> {
  return ids.length === 0 ? [] : withNames(db).where('conversations.id', 'in', ids).execute()
}

export async function insertConversation(
  tx: Tx,
  conversation: Pick<ConversationRow, 'project_id' | 'kind' | 'agent_a' | 'agent_b'>,
): Promise<string> {
  const id = tx.id()
  await tx.db
    .insertInto('conversations')
    .values({
      ...conversation,
      id,
      last_sequence: 0,
      removed_through_sequence: 0,
      budget_from: null,
      created_at: tx.nowIso,
    })
    .execute()
  return id
}

interface PageOfAgent {
  readonly agentId: string
  readonly after: string
  readonly limit: number
}

/** Visible conversations in which the agent is `agent_a` or `agent_b`. */
const onSide = (db: Db, side: 'agent_a' | 'agent_b', { agentId, after, limit }: PageOfAgent) =>
  withNames(db)
    .where(side, '=', agentId)
    .where((eb) =>
      eb.or([
        isOwners,
        eb.exists(
          eb
            .selectFrom('pairings')
            .select('pairings.id')
            .whereRef('pairings.agent_a', '=', 'conversations.agent_a')
            .whereRef('pairings.agent_b', '=', 'conversations.agent_b')
            .where('pairings.enabled', '=', 1),
        ),
      ]),
    )
    .where('a.state', '=', 'enabled')
    .where((eb) => eb.or([eb('b.state', 'is', null), eb('b.state', '=', 'enabled')]))
    .where('conversations.id', '>', after)
    .modifyEnd(pageOfPart(sql.ref('conversations.id'), limit))

const ofAgent = prepared<PageOfAgent>()((db, p) => {
  const page = { agentId: p('agentId'), after: p('after'), limit: p('limit') }
  return onSide(db, 'agent_a', page)
    .unionAll(onSide(db, 'agent_b', page))
    .orderBy('id')
    .limit(page.limit)
})

export async function listForAgent(
  db: Db,
  agentId: string,
  { after, limit = limits.pageDefault }: PageQuery,
): Promise<Page<Conversation>> {
  const rows = await ofAgent.all(db, { agentId, after: after ?? beforeAll, limit: limit + 1 })
  return toPage(rows, limit, after, toConversation)
}

export async function listInProject(
  db: Db,
  projectId: string,
  query: PageQuery,
): Promise<Page<Conversation>> {
  const { after, limit = limits.pageDefault } = query
  const place = placeOf(query)
  const rows = await withNames(db)
    .where('conversations.project_id', '=', projectId)
    .where('conversations.id', place.follows, place.from)
    .orderBy('conversations.id', place.direction)
    .limit(limit + 1)
    .execute()
  return toPage(rows, limit, after, toConversation)
}

export const toConversation = (row: NamedRow): Conversation => ({
  id: row.id,
  project_id: row.project_id,
  kind: row.kind,
  participants: [
    { kind: 'agent', agent_id: row.agent_a, name: row.name_a },
    row.agent_b === null
      ? { kind: 'owner', agent_id: null, name: 'owner' }
      : { kind: 'agent', agent_id: row.agent_b, name: row.name_b ?? '' },
  ],
  created_at: row.created_at,
  last_sequence: row.last_sequence,
})
