/** SQL of pairings: one row per pair, with the smaller agent id first. */
import { type SqlBool, sql } from 'kysely'
import { limits } from '../../sdk/contract/limits.ts'
import type { PairingResult } from '../../sdk/contract/owner/pairings.ts'
import { beforeAll, type Page, type PageQuery, toPage } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import type { Db, PairingRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'

const inOrder = (one: string, other: string) =>
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
  between.first(db, { ...inOrder(agentId, peerId), peer_id: peerId, project_id: projectId })

const state = prepared<{ agent_a: string; agent_b: string }>()((db, p) =>
  db
    .selectFrom('pairings')
    .select('enabled')
    .where('agent_a', '=', p('agent_a'))
    .where('agent_b', '=', p('agent_b')),
)

/** Whether the pairing of two agents is enabled. */
export const isPairEnabled = async (db: Db, one: string, other: string): Promise<boolean> =>
  (await state.first(db, inOrder(one, other)))?.enabled === 1

/**
 * Pairs two agents unless they have a pairing already, so that a pair which the owner disabled stays
 * disabled.
 */
export async function insertPairing(tx: Tx, projectId: string, one: string, other: string): Promise<void> {
  await tx.db
    .insertInto('pairings')
    .values({ id: tx.id(), project_id: projectId, ...inOrder(one, other), enabled: 1, updated_at: tx.nowIso })
    .onConflict((conflict) => conflict.columns(['agent_a', 'agent_b']).doNothing())
    .execute()
}

export async function upsertPairing(
  tx: Tx,
  projectId: string,
  [one, other]: readonly [string, string],
  enabled: boolean,
): Promise<PairingRow> {
  const changed = { enabled: enabled ? (1 as const) : (0 as const), updated_at: tx.nowIso }
  return tx.db
    .insertInto('pairings')
    .values({ id: tx.id(), project_id: projectId, ...inOrder(one, other), ...changed })
    .onConflict((conflict) => conflict.columns(['agent_a', 'agent_b']).doUpdateSet(changed))
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function listPairings(
  db: Db,
  projectId: string,
  { after, limit = limits.pageDefault, agent_id }: PageQuery & { readonly agent_id?: string | undefined },
): Promise<Page<PairingResult>> {
  const rows = await db
    .selectFrom('pairings')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '>', after ?? beforeAll)
    .$if(agent_id !== undefined, (some) =>
      some.where((eb) => eb.or([eb('agent_a', '=', agent_id ?? ''), eb('agent_b', '=', agent_id ?? '')])),
    )
    .orderBy('id')
    .limit(limit + 1)
    .execute()
  return toPage(rows, limit, after, toPairing)
}

export const toPairing = (row: PairingRow): PairingResult => ({
  agent_ids: [row.agent_a, row.agent_b],
  enabled: row.enabled === 1,
  updated_at: row.updated_at,
})
