/**
 * Lists the agents that the caller may write to: paired with it, enabled, and of its project. Spec §2 "Peer
 * listing"; contract §5.
 */
import type { Peer } from '../../sdk/contract/agent/peers.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { legacyRole, recipientKeyOf } from '../agents/store.ts'
import type { Context } from '../context.ts'
import { type PageQuery, toPage } from '../database/page.ts'
import { readAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { listPermitted, type PeerView } from './store.ts'

export function listPeers(context: Context, caller: AgentCaller, query: PageQuery) {
  return readAs(context, caller, async (db, agent) => {
    const now = context.steady.now()
    const limit = query.limit ?? limits.pageDefault
    const rows = await listPermitted(db, agent, { after: query.after, limit })
    const { items: peers, ...page } = toPage(rows, limit, query.after, (row) => toPeer(context, row, now))
    return { peers, ...page }
  })
}

function toPeer(context: Context, row: PeerView, now: Date): Peer {
  const key = recipientKeyOf(row)
  return {
    id: row.id,
    name: row.name,
    role_name: row.role_name,
    role: legacyRole(row.role_name),
    description: row.description,
    prompt_template: row.prompt_template,
    recipient_keys: key === null ? [] : [key],
    connection: context.presence.connection(row.id, now, row),
    conversation_id: row.conversation_id,
  }
}
