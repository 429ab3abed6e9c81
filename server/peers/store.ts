/** SQL of the peer list. */
import { sql } from 'kysely'
import { type AgentView, agentViews } from '../agents/store.ts'
import { beforeAll } from '../database/page.ts'
import { isPairOf } from '../database/sql.ts'
import type { Db } from '../database/tables.ts'

export type PeerView = AgentView & { readonly conversation_id: string | null }

export async function listPermitted(
  db: Db,
  agent: { readonly agent_id: string; readonly project_id: string },
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<PeerView[]> {
  const me = agent.agent_id
  return agentViews(db)
    .innerJoin('pairings', (join) => join.on(isPairOf(sql.ref('agents.id'), sql`${me}`)))
    .leftJoin('conversations', (join) =>
      join
        .on('conversations.kind', '=', 'peer')
        .onRef('conversations.agent_a', '=', 'pairings.agent_a')
        .onRef('conversations.agent_b', '=', 'pairings.agent_b'),
    )
    .select('conversations.id as conversation_id')
    .where('agents.project_id', '=', agent.project_id)
    .where('agents.state', '=', 'enabled')
    .where('agents.id', '!=', me)
    .where('pairings.enabled', '=', 1)
    .where('agents.id', '>', page.after ?? beforeAll)
    .orderBy('agents.id')
    .limit(page.limit + 1)
    .execute()
}
