/**
 * The owner's takeover: ends an agent's session and issues the grant with which the next one starts.
 * `sessions/takeovers.ts` describes the grant.
 */
import { limits } from '../../sdk/contract/limits.ts'
import type { TakeoverInput, TakeoverIssued } from '../../sdk/contract/owner/credentials.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { writeAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import { fence } from '../sessions/fencing.ts'
import { findActive } from '../sessions/store.ts'
import { findOpen, grantDigest, replaceGrant } from '../sessions/takeovers.ts'
import { getAgent } from './store.ts'

export function issueTakeover(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly agent_id: string },
  input: TakeoverInput,
): Promise<TakeoverIssued> {
  const grant = context.random(32).toString('base64url')
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    if (project.state === 'archived') throw new ApiError('project_archived')
    const agent = await getAgent(tx.db, project.id, ids.agent_id)
    if (agent.state === 'disabled') throw new ApiError('agent_disabled')
    const active = await findActive(tx.db, agent.id)
    const cause = { actor: ownerActor(caller), project_id: project.id }
    await fence(context, tx, { agentId: agent.id }, { ...cause, reason: 'takeover' })
    const ttl = input.ttl_seconds ?? limits.takeoverTtlSeconds.default
    const ends_at = tx.endIn(ttl)
    const expires_at = context.steady.wall(ends_at)
    const fenced = active?.id ?? (await findOpen(tx, agent.id))?.fenced_session_id ?? null
    await replaceGrant(tx, agent.id, {
      grant_sha256: grantDigest(grant),
      expires_at: ends_at,
      fenced_session_id: fenced,
    })
    await recordAudit(tx, {
      kind: 'takeover.issued',
      ...cause,
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
