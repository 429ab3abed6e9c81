/**
 * Pairings as conversations need them: whether two agents may talk, and the pair that a new session adds. The
 * owner's reads and changes are in `pairings`.
 */
import { type SqlBool, sql } from 'kysely'
import { prepared } from '../database/prepared.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'

/** The pair with the smaller id first, as the table stores it. */
export const pairOf = (one: string, other: string) =>
  one < other ? { agent_a: one, agent_b: other } : { agent_a: other, agent_b: one }

const between = prepared<{ agent_a: string; agent_b: string; peer_id: string; project_id: string }>()(
  (db, p) =>
    db
      .selectFrom('pairings')
      .innerJoin('agents as peer', (join) => join.on('peer.id', '=', p('peer_id')))
      .leftJoin('conversations', (join) =>
        join
          // A literal, because SQLite uses a partial index only if the query repeats its condition literally.
          .on(sql<SqlBool>`conversations.kind = 'peer'`)
          .onRef('conversations.agent_a', '=', 'pairings.agent_a')
          .onRef('conversations.agent_b', '=', 'pairings.agent_b'),
      )
      .select(['pairings.enabled', 'peer.state as peer_state', 'conversations.id as conversation_id'])
      .where('pairings.agent_a', '=', p('agent_a'))
      .where('pairings.agent_b', '=', p('agent_b'))
      .where('pairings.project_id', '=', p('project_id')),
)

/**
 * Returns the pairing of an agent with a peer of its project, with the peer's state and their conversation,
 * if there is one.
 */
export const findPairing = (db: Db, projectId: string, agentId: string, peerId: string) =>
  between.first(db, { ...pairOf(agentId, peerId), peer_id: peerId, project_id: projectId })

const state = prepared<{ agent_a: string; agent_b: string }>()((db, p) =>
  db
    .selectFrom('pairings')
    .select('enabled')
    .where('agent_a', '=', p('agent_a'))
    .where('agent_b', '=', p('agent_b')),
)

/** Whether the pairing of two agents is enabled. */
export const isPairEnabled = async (db: Db, one: string, other: string): Promise<boolean> =>
  (await state.first(db, pairOf(one, other)))?.enabled === 1

/**
 * Pairs two agents unless they have a pairing already, so that a pair which the owner disabled stays
 * disabled.
 */
export async function insertPairing(tx: Tx, projectId: string, one: string, other: string): Promise<void> {
  await tx.db
    .insertInto('pairings')
    .values({ id: tx.id(), project_id: projectId, ...pairOf(one, other), enabled: 1, updated_at: tx.nowIso })
    .onConflict((conflict) => conflict.columns(['agent_a', 'agent_b']).doNothing())
    .execute()
}
