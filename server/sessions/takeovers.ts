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
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import type { SessionRow, TakeoverRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'

export const grantDigest = (grant: string): Buffer => hash('sha256', grant, 'buffer')

export const findOpen = (tx: Tx, agentId: string): Promise<TakeoverRow | undefined> =>
  tx.db
    .selectFrom('takeovers')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('expires_at', '>', tx.steadyIso)
    .executeTakeFirst()

export async function replaceGrant(
  tx: Tx,
  agentId: string,
  row: Omit<TakeoverRow, 'agent_id'>,
): Promise<void> {
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
  const given = grantDigest(grant)
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
