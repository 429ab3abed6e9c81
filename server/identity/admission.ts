/**
 * Decides whether a proven agent may act now. The check runs inside the transaction of the action, so a
 * credential, session or agent that was just fenced, revoked or disabled cannot act.
 *
 * Spec §1 "Project and access isolation apply to every operation"; contract §2 "Order", §5.
 */
import type { Scope } from '../../sdk/contract/endpoint.ts'
import { ApiError } from '../api-error.ts'
import type { Lane } from '../database/lanes.ts'
import { prepared } from '../database/prepared.ts'
import type { Db } from '../database/tables.ts'
import type { Touches } from '../database/touches.ts'
import type { Tx } from '../database/tx.ts'
import type { WriteOptions } from '../database/writer.ts'
import { type AgentCaller, permits } from './callers.ts'
import type { IdentityServices } from './services.ts'

export interface Admitted {
  readonly agent_id: string
  readonly agent_name: string
  readonly project_id: string
  readonly project_state: 'active' | 'paused'
  readonly message_budget: number | null
  readonly credential_id: string
  readonly binding: 'key' | 'device' | 'legacy'
  readonly scopes: readonly Scope[]
  readonly request_id: string
  /** Empty id and generation 0 for endpoints without a session. */
  readonly session: { readonly id: string; readonly generation: number }
}

const findAdmissionState = prepared<{ credential_id: string; session_id: string }>()((db, p) =>
  db
    .selectFrom('credentials')
    .innerJoin('agents', 'agents.id', 'credentials.agent_id')
    .innerJoin('projects', 'projects.id', 'credentials.project_id')
    .leftJoin('sessions', (join) =>
      join.on('sessions.id', '=', p('session_id')).onRef('sessions.credential_id', '=', 'credentials.id'),
    )
    .select([
      'credentials.expires_at',
      'credentials.revoked_at',
      'credentials.scopes',
      'credentials.binding',
      'agents.name as agent_name',
      'agents.state as agent_state',
      'projects.state as project_state',
      'projects.deleted_at',
      'projects.message_budget',
      'sessions.state as session_state',
      'sessions.generation',
    ])
    .where('credentials.id', '=', p('credential_id')),
)

const sessionErrors = { fenced: 'session_fenced', closed: 'session_closed' } as const

/**
 * @throws credential_unknown, credential_revoked, credential_expired, agent_disabled, project_archived,
 *   scope_missing, session_unknown, session_fenced, session_closed
 */
export async function admit(db: Db, caller: AgentCaller, now: Date): Promise<Admitted> {
  const found = await findAdmissionState.first(db, {
    credential_id: caller.credential_id,
    session_id: caller.session_id ?? '',
  })
  if (found === undefined || found.deleted_at !== null) throw new ApiError('credential_unknown')
  if (found.revoked_at !== null) throw new ApiError('credential_revoked')
  if (found.expires_at !== null && found.expires_at <= now.toISOString())
    throw new ApiError('credential_expired')
  if (found.agent_state === 'disabled') throw new ApiError('agent_disabled')
  if (found.project_state === 'archived') throw new ApiError('project_archived')
  const scopes = JSON.parse(found.scopes) as Scope[]
  if (!permits(scopes, caller.endpoint)) {
    throw new ApiError('scope_missing', { details: { scopes_needed: caller.endpoint.scope } })
  }
  if (caller.session_id !== undefined) {
    if (found.session_state === null) throw new ApiError('session_unknown')
    if (found.session_state !== 'active') throw new ApiError(sessionErrors[found.session_state])
  }
  return {
    agent_id: caller.agent_id,
    agent_name: found.agent_name,
    project_id: caller.project_id,
    project_state: found.project_state,
    message_budget: found.message_budget,
    credential_id: caller.credential_id,
    binding: found.binding,
    scopes,
    request_id: caller.request_id,
    session: { id: caller.session_id ?? '', generation: found.generation ?? 0 },
  }
}

const contactRenewal = prepared<{ id: string; now: string }>()((db, p) =>
  db
    .updateTable('sessions')
    .set({ last_contact_at: p('now') })
    .where('id', '=', p('id')),
)
const renewCredential = prepared<{ id: string; now: string }>()((db, p) =>
  db
    .updateTable('credentials')
    .set({ last_used_at: p('now') })
    .where('id', '=', p('id')),
)

/** Stores that a session is in contact now. */
export async function renewContact(
  { presence }: Pick<IdentityServices, 'presence'>,
  tx: Tx,
  sessionId: string,
): Promise<void> {
  tx.afterCommit(() => presence.saved(sessionId, tx.steadyNow))
  await contactRenewal.run(tx.db, { id: sessionId, now: tx.steadyIso })
}

/** Records the agent's contact in memory. Returns true if it is to be stored: every ten seconds. */
const noteContact = ({ presence }: IdentityServices, tx: Tx, { agent_id, session }: Admitted): boolean =>
  session.id !== '' && presence.touch(agent_id, session.id, tx.steadyNow)

/** Runs one unit of work for an agent: nonce, rate, admission and effect in one transaction. */
export async function writeAs<T>(
  context: IdentityServices,
  caller: AgentCaller,
  unit: (tx: Tx, agent: Admitted) => Promise<T>,
  /** See `WriteOptions`. */
  touches?: Touches,
  /** Lanes beside that of the project. */
  lanes?: readonly Lane[],
): Promise<T> {
  // Stays true if the unit runs again, because its first run stored nothing.
  let isDue = false
  const admitted = async (tx: Tx) => {
    const agent = await admit(tx.db, caller, tx.now)
    isDue = noteContact(context, tx, agent) || isDue
    if (isDue) {
      await renewContact(context, tx, agent.session.id)
      await renewCredential.run(tx.db, { id: agent.credential_id, now: tx.nowIso })
    }
    return unit(tx, agent)
  }
  return transact(context, caller, admitted, { touches, lanes })
}

/**
 * Runs a read for an agent. The first read of a request runs in the transaction that spends its nonce and is
 * answered after that commit is durable. Later reads, such as those of a long-poll, use a snapshot. Both
 * check admission.
 */
export async function readAs<T>(
  context: IdentityServices,
  caller: AgentCaller,
  unit: (db: Db, agent: Admitted, now: Date) => Promise<T>,
  /** As for `writeAs`. Empty: each statement of the read says something for itself. */
  touches?: Touches,
): Promise<T> {
  if (caller.isNew) return writeAs(context, caller, (tx, agent) => unit(tx.db, agent, tx.now), touches)
  return context.read(async (db) => {
    const now = context.clock()
    return unit(db, await admit(db, caller, now), now)
  })
}

/**
 * Spends the nonce and charges the rate, unless an earlier transaction has. @throws request_replayed,
 * rate_limited
 */
export async function spendNonce(context: IdentityServices, caller: AgentCaller): Promise<void> {
  if (caller.isNew) await transact(context, caller, async () => undefined, { touches: { alone: [] } })
}

/**
 * The first transaction of a request spends its nonce and then charges its agent's rate. A replay is never
 * charged; it counts as a failed authentication of the address that sent it. A request over the rate has
 * spent its nonce.
 */
async function transact<T>(
  context: IdentityServices,
  caller: AgentCaller,
  unit: (tx: Tx) => Promise<T>,
  { touches, lanes = [] }: Pick<WriteOptions, 'touches'> & { readonly lanes?: readonly Lane[] | undefined },
): Promise<T> {
  const { nonce, isNew } = caller
  caller.nonce = undefined
  caller.isNew = false
  let isCharged = !isNew
  const charged = (tx: Tx): Promise<T> => {
    if (!isCharged) context.throttle.takeAgent(caller.agent_id)
    isCharged = true
    return unit(tx)
  }
  try {
    return await context.write([caller.project_id, ...lanes], charged, { nonce, touches })
  } catch (error) {
    const isReplay = error instanceof ApiError && error.code === 'request_replayed'
    if (isReplay) context.throttle.countFailure('proof', caller.address)
    throw error
  }
}
