/**
 * Queries over an agent's inbox, in the order of delivery.
 *
 * Withheld are messages of a pair that the owner has disabled, until it is enabled again, and types that the
 * credential's scopes do not cover.
 *
 * Contract §3 "delivery is filtered", §6, §10 "unoffered mail is withheld".
 */
import { sql } from 'kysely'
import type { Scope } from '../../sdk/contract/endpoint.ts'
import { messageColumns } from '../database/columns.ts'
import { prepared } from '../database/prepared.ts'
import { beyond, inOrder, isPairOf } from '../database/sql.ts'
import type { Db, MessageRow } from '../database/tables.ts'

/**
 * The pair of sender and recipient is not disabled. This covers peer messages and the service's messages
 * about the pair. A message without an agent as sender belongs to no pair.
 */
const pairIsOpen = sql<boolean>`not exists (
  select 1 from pairings
  where messages.sender_agent_id is not null and pairings.enabled = 0
    and ${isPairOf(sql.ref('messages.sender_agent_id'), sql.ref('messages.inbox_agent_id'))})`

/** The message types that the credential's scopes permit: 1 or 0 for each. */
interface Types {
  readonly task: number
  readonly transfer: number
  readonly talk: number
}

const isPermitted = (p: (type: keyof Types) => number) =>
  sql<boolean>`cast(case type when 'task' then ${p('task')} when 'transfer' then ${p('transfer')} else ${p('talk')} end as integer) = 1`

interface Asked extends Types {
  readonly agent_id: string
  readonly generation: number
}

/**
 * One generation at a time, in index order. A range of generations would have to be sorted, whatever its
 * size.
 */
const ofGeneration = prepared<Asked & { limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(messageColumns)
    .where('inbox_agent_id', '=', p('agent_id'))
    .where('acknowledged_at', 'is', null)
    .where('offered_generation', '=', p('generation'))
    .where(pairIsOpen)
    .where(isPermitted(p))
    .orderBy(inOrder)
    .limit(p('limit')),
)

const nextGeneration = prepared<{ agent_id: string; above: number; below: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select('offered_generation')
    .where('inbox_agent_id', '=', p('agent_id'))
    .where('acknowledged_at', 'is', null)
    .where('offered_generation', '>', p('above'))
    .where('offered_generation', '<', p('below'))
    .orderBy('offered_generation')
    .limit(1),
)

const due = prepared<Asked & { before: string; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(messageColumns)
    .where('inbox_agent_id', '=', p('agent_id'))
    .where('acknowledged_at', 'is', null)
    .where('offered_generation', '=', p('generation'))
    .where('last_offered_at', '<=', p('before'))
    .where(pairIsOpen)
    .where(isPermitted(p))
    .orderBy('last_offered_at')
    // Offers of one page have one time.
    .orderBy(inOrder)
    .limit(p('limit')),
)

const earliestOffer = prepared<Asked>()((db, p) =>
  db
    .selectFrom('messages')
    .select('last_offered_at')
    .where('inbox_agent_id', '=', p('agent_id'))
    .where('acknowledged_at', 'is', null)
    .where('offered_generation', '=', p('generation'))
    .where('last_offered_at', 'is not', null)
    .where(pairIsOpen)
    .where(isPermitted(p))
    .orderBy('last_offered_at')
    .limit(1),
)

const unacknowledged = prepared<Asked & { after: string; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(messageColumns)
    .where('inbox_agent_id', '=', p('agent_id'))
    .where('acknowledged_at', 'is', null)
    .where('offered_generation', '=', p('generation'))
    .where(beyond('messages', p('after')))
    .where(pairIsOpen)
    .where(isPermitted(p))
    .orderBy(inOrder)
    .limit(p('limit')),
)

const waitingIn = prepared<{ agent_id: string }>()((db, p) =>
  db.selectFrom('inboxes').select('waiting').where('agent_id', '=', p('agent_id')),
)

/** The message types that the scopes permit, as numbers for the queries. */
export function typesOf(scopes: readonly Scope[]): Types {
  const holds = (noun: string) => (scopes.some((each) => each === noun || each === `${noun}:read`) ? 1 : 0)
  return { task: holds('tasks'), transfer: holds('transfers'), talk: holds('messages') }
}

export interface InboxView {
  readonly agentId: string
  readonly generation: number
  readonly scopes: readonly Scope[]
}

/** Messages that were never offered, oldest first, which is sequence order within a conversation. */
export const listNeverOffered = (db: Db, view: InboxView, limit: number): Promise<MessageRow[]> =>
  ofGeneration.all(db, { agent_id: view.agentId, generation: 0, ...typesOf(view.scopes), limit })

/**
 * Yields the generations in the range that have unacknowledged messages. A message's generation is that of
 * the session that was last offered it, or 0 if it was never offered.
 */
async function* generationsOf(
  db: Db,
  agent_id: string,
  range: { readonly above: number; readonly below: number },
): AsyncGenerator<number> {
  for (let { above, below } = range; ; ) {
    const next = await nextGeneration.first(db, { agent_id, above, below })
    if (next === undefined) return
    above = next.offered_generation
    yield above
  }
}

/**
 * Messages last offered to an earlier session of the agent: at most `limit` per session, in no particular
 * order.
 */
export async function listOfferedEarlier(db: Db, view: InboxView, limit: number): Promise<MessageRow[]> {
  const { agentId: agent_id, generation: below } = view
  const rows: MessageRow[] = []
  for await (const generation of generationsOf(db, agent_id, { above: 0, below }))
    rows.push(...(await ofGeneration.all(db, { agent_id, generation, ...typesOf(view.scopes), limit })))
  return rows
}

/**
 * Unacknowledged messages last offered to this session at or before `before` (steady time), oldest offer
 * first.
 */
export const listDue = (db: Db, view: InboxView, before: string, limit: number): Promise<MessageRow[]> =>
  due.all(db, { agent_id: view.agentId, generation: view.generation, before, ...typesOf(view.scopes), limit })

/**
 * All unacknowledged messages in the order of storage. They are merged from the generations, of which there
 * are few.
 */
export async function listUnacknowledged(
  db: Db,
  view: Pick<InboxView, 'agentId' | 'scopes'>,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<MessageRow[]> {
  const { agentId: agent_id } = view
  const filter = { agent_id, ...typesOf(view.scopes), after, limit }
  const rows: MessageRow[] = []
  const allGenerations = { above: -1, below: Number.MAX_SAFE_INTEGER }
  for await (const generation of generationsOf(db, agent_id, allGenerations))
    rows.push(...(await unacknowledged.all(db, { ...filter, generation })))
  return rows.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(0, limit)
}

/** Steady time of the oldest unacknowledged offer of this session. */
export async function findEarliestOffer(db: Db, view: InboxView): Promise<string | null> {
  const found = await earliestOffer.first(db, {
    agent_id: view.agentId,
    generation: view.generation,
    ...typesOf(view.scopes),
  })
  return found?.last_offered_at ?? null
}

export async function countWaiting(db: Db, agentId: string): Promise<number> {
  return (await waitingIn.first(db, { agent_id: agentId }))?.waiting ?? 0
}
