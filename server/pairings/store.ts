/** SQL of pairings: one row per pair, with the smaller agent id first. */
import { limits } from '../../sdk/contract/limits.ts'
import type { PairingResult } from '../../sdk/contract/owner/pairings.ts'
import { pairOf } from '../conversations/pairs.ts'
import { type Page, type PageQuery, placeOf, toPage } from '../database/page.ts'
import type { Db, PairingRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'

export async function upsertPairing(
  tx: Tx,
  projectId: string,
  [one, other]: readonly [string, string],
  enabled: boolean,
): Promise<PairingRow> {
  const changed = { enabled: enabled ? (1 as const) : (0 as const), updated_at: tx.nowIso }
  return tx.db
    .insertInto('pairings')
    .values({ id: tx.id(), project_id: projectId, ...pairOf(one, other), ...changed })
    .onConflict((conflict) => conflict.columns(['agent_a', 'agent_b']).doUpdateSet(changed))
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function listPairings(
  db: Db,
  projectId: string,
  query: PageQuery & { readonly agent_id?: string | undefined },
): Promise<Page<PairingResult>> {
  const { after, limit = limits.pageDefault, agent_id } = query
  const place = placeOf(query)
  const rows = await db
    .selectFrom('pairings')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', place.follows, place.from)
    .$if(agent_id !== undefined, (some) =>
      some.where((eb) => eb.or([eb('agent_a', '=', agent_id ?? ''), eb('agent_b', '=', agent_id ?? '')])),
    )
    .orderBy('id', place.direction)
    .limit(limit + 1)
    .execute()
  return toPage(rows, limit, after, toPairing)
}

export const toPairing = (row: PairingRow): PairingResult => ({
  agent_ids: [row.agent_a, row.agent_b],
  enabled: row.enabled === 1,
  updated_at: row.updated_at,
})
