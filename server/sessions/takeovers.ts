/**
 * Takeover: the owner ends an agent's session now, and only who holds the grant starts the next one.
 *
 * The grant is 256 bits, bound to the agent, stored as a hash, and used up in the transaction of the new session. A new
 * takeover voids the last; an expired one is as if it had never been.
 *
 * Spec §3 "old session fenced; a single-use replacement grant is issued"; contract §5.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { limits } from '../../sdk/contract/limits.ts'
import type { TakeoverInput, TakeoverIssued } from '../../sdk/contract/owner/credentials.ts'
import { getAgent } from '../agents/store.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { Tx } from '../database/transaction.ts'
import { Fault } from '../fault.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { writeAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import { fence } from './fencing.ts'
import { findActive } from './store.ts'

const digest = (grant: string) => hash('sha256', grant, 'buffer')

export function issueTakeover(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly agent_id: string },
  input: TakeoverInput,
): Promise<TakeoverIssued> {
  const grant = context.random(32).toString('base64url')
  return writeAsOwner(context, caller, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    if (project.state === 'archived') throw new Fault('project_archived')
    const agent = await getAgent(tx.db, project.id, ids.agent_id)
    if (agent.state === 'disabled') throw new Fault('agent_disabled')
    const active = await findActive(tx.db, agent.id)
    const why = { actor: ownerActor(caller), project_id: project.id }
    await fence(context, tx, { agentId: agent.id }, { ...why, reason: 'takeover' })
    const ttl = input.ttl_seconds ?? limits.takeoverTtlSeconds.default
    const expires_at = new Date(tx.now.getTime() + ttl * 1000).toISOString()
    await replaceGrant(tx, agent.id, digest(grant), expires_at)
    await recordAudit(tx, {
      kind: 'takeover.issued',
      ...why,
      subject: { type: 'agent', id: agent.id },
      details: { expires_at, fenced_session_id: active?.id ?? null, reason: input.reason ?? null },
    })
    return {
      grant,
      expires_at,
      fenced_session_id: active?.id ?? null,
      generation: agent.session_generation,
    }
  })
}

async function replaceGrant(tx: Tx, agentId: string, grantSha256: Buffer, expiresAt: string): Promise<void> {
  const row = { grant_sha256: grantSha256, expires_at: expiresAt }
  await tx.db
    .insertInto('takeovers')
    .values({ agent_id: agentId, ...row })
    .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(row))
    .execute()
}

/**
 * While a grant is open only its holder starts a session. Answers whether the start is the takeover's.
 *
 * @throws takeover_pending without the grant or with another, also when no grant is open any more
 */
export async function redeemTakeover(tx: Tx, agentId: string, grant: string | undefined): Promise<boolean> {
  const open = await tx.db
    .selectFrom('takeovers')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('expires_at', '>', tx.nowIso)
    .executeTakeFirst()
  if (open === undefined) {
    if (grant === undefined) return false
    throw new Fault('takeover_pending', { message: 'This takeover grant is unknown, used or expired.' })
  }
  if (grant === undefined || !timingSafeEqual(digest(grant), open.grant_sha256)) {
    throw new Fault('takeover_pending', { details: { expires_at: open.expires_at } })
  }
  await tx.db.deleteFrom('takeovers').where('agent_id', '=', agentId).execute()
  return true
}
