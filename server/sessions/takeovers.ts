/**
 * Takeover: the owner ends an agent's session, and only the holder of the grant can start the next one.
 *
 * The grant has 256 bits, is bound to the agent and is stored as a hash. The transaction of the new session
 * uses it up. The session keeps the hash, so the same instance can get its session again with the same grant
 * if the answer was lost. A new takeover voids the previous grant. An expired grant starts no session and
 * blocks none.
 *
 * Spec §3 "old session fenced; a single-use replacement grant is issued"; contract §5.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { limits } from '../../sdk/contract/limits.ts'
import type { TakeoverInput, TakeoverIssued } from '../../sdk/contract/owner/credentials.ts'
import { getAgent } from '../agents/store.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { SessionRow, TakeoverRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
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
      grant_sha256: digest(grant),
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

const findOpen = (tx: Tx, agentId: string): Promise<TakeoverRow | undefined> =>
  tx.db
    .selectFrom('takeovers')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('expires_at', '>', tx.steadyIso)
    .executeTakeFirst()

async function replaceGrant(tx: Tx, agentId: string, row: Omit<TakeoverRow, 'agent_id'>): Promise<void> {
  await tx.db
    .insertInto('takeovers')
    .values({ agent_id: agentId, ...row })
    .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(row))
    .execute()
}

/** The identity and instance that want to start a session, and the session that is active now. */
export interface Claimant {
  readonly agent_id: string
  readonly credential_id: string
  readonly instance_id: string
  readonly active: SessionRow | undefined
}

/**
 * `none`: no takeover is open. `repeated`: the active session belongs to this instance and was started with
 * this grant.
 */
export type Redeemed = 'none' | 'repeated' | Pick<TakeoverRow, 'grant_sha256' | 'fenced_session_id'>

/**
 * Redeems a grant. While a grant is open, only its holder can start a session.
 *
 * @throws takeover_pending without a grant; grant_invalid if the grant is unknown, used, voided or expired
 */
export async function redeemTakeover(
  { steady }: Pick<Context, 'steady'>,
  tx: Tx,
  claimant: Claimant,
  grant: string | undefined,
): Promise<Redeemed> {
  const open = await findOpen(tx, claimant.agent_id)
  if (grant === undefined) {
    if (open === undefined) return 'none'
    throw new ApiError('takeover_pending', { details: { expires_at: steady.wall(open.expires_at) } })
  }
  const given = digest(grant)
  if (open !== undefined && timingSafeEqual(given, open.grant_sha256)) {
    await tx.db.deleteFrom('takeovers').where('agent_id', '=', claimant.agent_id).execute()
    return open
  }
  if (!wasStartedWith(given, claimant)) throw new ApiError('grant_invalid')
  return 'repeated'
}

const wasStartedWith = (given: Buffer, { active, credential_id, instance_id }: Claimant): boolean =>
  active !== undefined &&
  active.grant_sha256 !== null &&
  timingSafeEqual(given, active.grant_sha256) &&
  active.credential_id === credential_id &&
  active.instance_id === instance_id
