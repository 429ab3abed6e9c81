/**
 * What a restore does to each table, so that nothing of the time before or after the backup works wrongly.
 *
 * Every table of the store is named here, or this does not compile: it is changed, or it is said why it stays.
 *
 * - Sessions, takeover grants, challenges, enrolment codes, links, sign-ins, the telemetry token, sealed secrets: over.
 * - Credentials: what was revoked when the backup was made is in it. What was revoked since is known where the database that
 *   is replaced can be read, and revoked again. Where nobody knows, the agents that could come back are disabled until the
 *   owner has looked, unless the operator vouches for them.
 * - Generations go on above every one that was ever given out, so what a lost session left behind fits no later one.
 * - Claims run to their end, as after any fencing; their holders cannot renew them.
 *
 * Contract §3, §5, §9.
 */
import { sql } from 'kysely'
import { updateAgentState } from '../../agents/store.ts'
import { recordAudit, systemActor } from '../../audit/store.ts'
import type { Context } from '../../context.ts'
import { markRevoked } from '../../credentials/store.ts'
import type { Tables } from '../../database/tables.ts'
import type { Tx } from '../../database/tx.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { fence } from '../../sessions/fencing.ts'
import { notify } from '../../transfers/notices.ts'
import { recordTransfer } from '../../transfers/records.ts'
import { decide } from '../../transfers/rules.ts'
import { changeTransfer } from '../../transfers/store.ts'
import type { Known } from './known.ts'
import type { EndedTransfer, ReviewedGrant } from './review.ts'

/** One restore: what is known, what was decided, and what it found. */
export interface Restoring {
  readonly context: Pick<Context, 'wakeups'>
  readonly known: Known | undefined
  /** Credentials are good without the owner's word: the operator vouches that none was revoked since. */
  readonly accepted: boolean
  /** Above every generation that was given out, in the time that is lost too. */
  readonly generation: number
  /** Whether the bytes of a package lie in the data folder. */
  readonly hasBytes: (transfer: TransferRow) => boolean
  /** Their ends in steady time. */
  readonly grants: ReviewedGrant[]
  readonly transfers: EndedTransfer[]
  /** Agents that were disabled here because nobody knows. */
  readonly held: Set<string>
  /** Credentials that were revoked after the backup. */
  readonly revoked: Set<string>
  fenced: number
}

export type Restoration = (tx: Tx, restoring: Restoring) => Promise<void>

const reason = 'restored from a backup'
const why = { actor: systemActor } as const

/** Removals that were under way go on at the next start; what was deleted later does not come back. */
const projects: Restoration = async (tx, { known }) => {
  const there = await tx.db.selectFrom('projects').select('id').where('deleted_at', 'is', null).execute()
  for (const { id } of there) {
    if (known?.deletedProjects.has(id) !== true) continue
    await tx.db.updateTable('projects').set({ deleted_at: tx.nowIso }).where('id', '=', id).execute()
  }
}

const ownerUsers: Restoration = async (tx, { known }) => {
  for (const [id, { state, password }] of known?.people ?? []) {
    const change = { password, ...(state === 'disabled' && { state }), updated_at: tx.nowIso }
    await tx.db.updateTable('owner_users').set(change).where('id', '=', id).execute()
  }
}

const projectAdministrators: Restoration = async (tx, { known }) => {
  if (known === undefined) return
  const rows = await tx.db.selectFrom('project_administrators').select(['user_id', 'project_id']).execute()
  for (const { user_id, project_id } of rows) {
    if (known.assignments.has(`${user_id} ${project_id}`)) continue
    await tx.db
      .deleteFrom('project_administrators')
      .where('user_id', '=', user_id)
      .where('project_id', '=', project_id)
      .execute()
  }
}

const ownerLinks: Restoration = async (tx, { grants }) => {
  const open = await tx.db
    .selectFrom('owner_links')
    .leftJoin('owner_users', 'owner_users.id', 'owner_links.user_id')
    .select(['kind', 'owner_links.expires_at', 'name'])
    .where('used_at', 'is', null)
    .where('expires_at', '>', tx.steadyIso)
    .execute()
  for (const { kind, name, expires_at } of open) {
    const told = kind === 'setup' ? 'setup_link' : 'sign_in_link'
    grants.push({ kind: told, id: null, of: name ?? 'the owner', project: null, expires_at })
  }
  await tx.db.deleteFrom('owner_links').execute()
}

const ownerSessions: Restoration = async (tx, { grants }) => {
  const open = await tx.db
    .selectFrom('owner_sessions')
    .innerJoin('owner_users', 'owner_users.id', 'owner_sessions.user_id')
    .select(['owner_sessions.id', 'name', 'expires_at'])
    .where('ended_at', 'is', null)
    .where('expires_at', '>', tx.steadyIso)
    .execute()
  for (const { id, name, expires_at } of open)
    grants.push({ kind: 'owner_session', id, of: name, project: null, expires_at })
  await tx.db
    .updateTable('owner_sessions')
    .set({ ended_at: tx.nowIso })
    .where('ended_at', 'is', null)
    .execute()
}

const telemetryToken: Restoration = async (tx, { known, grants }) => {
  const token = await tx.db.selectFrom('telemetry_token').select('token_sha256').executeTakeFirst()
  if (token === undefined || known?.telemetryToken?.equals(token.token_sha256) === true) return
  await tx.db.deleteFrom('telemetry_token').execute()
  grants.push({
    kind: 'telemetry_token',
    id: null,
    of: 'every host that reports',
    project: null,
    expires_at: null,
  })
}

const sessions: Restoration = async (tx, restoring) => {
  const active = await tx.db
    .selectFrom('sessions')
    .select(['id', 'project_id'])
    .where('state', '=', 'active')
    .execute()
  for (const { id, project_id } of active)
    await fence(restoring.context, tx, { id }, { ...why, project_id, reason: 'restored' })
  restoring.fenced = active.length
}

const credentials: Restoration = async (tx, { known, revoked }) => {
  const good = await tx.db
    .selectFrom('credentials')
    .select(['id', 'project_id'])
    .where('revoked_at', 'is', null)
    .execute()
  for (const { id, project_id } of good) {
    if (known?.revokedCredentials.has(id) !== true) continue
    await markRevoked(tx, id)
    revoked.add(id)
    const subject = { type: 'credential', id }
    await recordAudit(tx, { kind: 'credential.revoked', ...why, project_id, subject, details: { reason } })
  }
}

/** After the credentials: who has none that is good is not held. */
const agents: Restoration = async (tx, { known, accepted, generation, held }) => {
  await tx.db.updateTable('agents').set({ session_generation: generation }).execute()
  const enabled = await tx.db
    .selectFrom('agents')
    .select(['id', 'project_id'])
    .select((eb) =>
      eb
        .exists(
          eb
            .selectFrom('credentials')
            .select('credentials.id')
            .whereRef('credentials.agent_id', '=', 'agents.id')
            .where('revoked_at', 'is', null),
        )
        .as('could_come'),
    )
    .where('state', '=', 'enabled')
    .execute()
  for (const { id, project_id, could_come } of enabled) {
    const isHeld = known === undefined && !accepted && Boolean(could_come)
    if (!isHeld && known?.disabledAgents.has(id) !== true) continue
    await updateAgentState(tx, id, 'disabled')
    if (isHeld) held.add(id)
    const subject = { type: 'agent', id }
    await recordAudit(tx, { kind: 'agent.disabled', ...why, project_id, subject, details: { reason } })
  }
}

/** Also one that the backup does not know: its agents would be paired when one of them starts. */
const pairings: Restoration = async (tx, { known }) => {
  for (const { project_id, agent_a, agent_b } of known?.disabledPairs ?? []) {
    const both = await tx.db
      .selectFrom('agents')
      .select('id')
      .where('id', 'in', [agent_a, agent_b])
      .where('project_id', '=', project_id)
      .execute()
    if (both.length < 2) continue
    const change = { enabled: 0 as const, updated_at: tx.nowIso }
    await tx.db
      .insertInto('pairings')
      .values({ id: tx.id(), project_id, agent_a, agent_b, ...change })
      .onConflict((conflict) => conflict.columns(['agent_a', 'agent_b']).doUpdateSet(change))
      .execute()
  }
}

/** A key that was set since is the one that its agent has now. */
const recipientKeys: Restoration = async (tx, { known }) => {
  for (const { agent_id, ...key } of known?.recipientKeys.values() ?? [])
    await tx.db.updateTable('recipient_keys').set(key).where('agent_id', '=', agent_id).execute()
}

const enrollments: Restoration = async (tx, { grants }) => {
  const pending = await tx.db
    .selectFrom('enrollments')
    .innerJoin('agents', 'agents.id', 'enrollments.agent_id')
    .innerJoin('projects', 'projects.id', 'enrollments.project_id')
    .select(['enrollments.id', 'enrollments.project_id', 'expires_at'])
    .select(['agents.name as agent', 'projects.name as project'])
    .where('enrollments.state', '=', 'pending')
    .execute()
  for (const { id, project_id, agent, project, expires_at } of pending) {
    await tx.db.updateTable('enrollments').set({ state: 'revoked' }).where('id', '=', id).execute()
    const subject = { type: 'enrollment', id }
    await recordAudit(tx, { kind: 'enrollment.revoked', ...why, project_id, subject, details: { reason } })
    if (expires_at > tx.steadyIso) grants.push({ kind: 'enrollment', id, of: agent, project, expires_at })
  }
}

const takeovers: Restoration = async (tx, { grants }) => {
  const open = await tx.db
    .selectFrom('takeovers')
    .innerJoin('agents', 'agents.id', 'takeovers.agent_id')
    .innerJoin('projects', 'projects.id', 'agents.project_id')
    .select(['agents.name as agent', 'projects.name as project', 'expires_at'])
    .where('expires_at', '>', tx.steadyIso)
    .execute()
  for (const { agent, project, expires_at } of open)
    grants.push({ kind: 'takeover', id: null, of: agent, project, expires_at })
  await tx.db.deleteFrom('takeovers').execute()
}

const challenges: Restoration = async (tx) => {
  await tx.db.deleteFrom('challenges').execute()
}

/** Their helpers and tunnels are of another time, and the envelope key may be another one. */
const transferSecrets: Restoration = async (tx) => {
  await tx.db.deleteFrom('transfer_secrets').execute()
}

/** Bytes are no part of a backup: what was uploaded and is not here can never be received. */
const transfers: Restoration = async (tx, { context, hasBytes, transfers: ended }) => {
  const open = await tx.db
    .selectFrom('transfers')
    .innerJoin('projects', 'projects.id', 'transfers.project_id')
    .selectAll('transfers')
    .select('projects.name as project')
    .where('ends_at', 'is not', null)
    .where('stored_parts', '>', 0)
    .execute()
  for (const { project, ...transfer } of open) {
    if (hasBytes(transfer)) continue
    const state = decide(transfer.state, transfer.state === 'accepted' ? 'fail' : 'cancel')
    if (state !== 'failed' && state !== 'cancelled') continue
    const changed = await changeTransfer(tx, transfer, { state, ends_at: null })
    const notice = {
      what: state,
      more: 'the node was restored from a backup, which does not hold the bytes of packages; offer the file again',
    } as const
    await notify(context, tx, changed, { ...notice, to: 'sender' })
    await notify(context, tx, changed, { ...notice, to: 'recipient' })
    await recordTransfer(tx, changed, { kind: `transfer.${state}`, ...why, reason })
    ended.push({ transfer_id: transfer.id, project, filename: transfer.filename, state })
  }
}

/** Raised already when the store was opened; see `restore.ts`. Held to here, since nothing else refuses old proofs. */
const replayFloor: Restoration = async (tx) => {
  const { floor } = await tx.db.selectFrom('replay_floor').select('floor').executeTakeFirstOrThrow()
  if (floor * 1000 < tx.now.getTime()) throw new Error('the floor of proofs was not raised')
}

/** In the order of the list. */
export const restorations: Record<keyof Tables, Restoration | string> = {
  projects,
  owner_users: ownerUsers,
  project_administrators: projectAdministrators,
  owner_links: ownerLinks,
  owner_sessions: ownerSessions,
  telemetry_token: telemetryToken,
  sessions,
  credentials,
  agents,
  pairings,
  recipient_keys: recipientKeys,
  enrollments,
  takeovers,
  challenges,
  transfer_secrets: transferSecrets,
  transfers,
  replay_floor: replayFloor,

  server: 'clients have learnt its id, and it is the same node',
  environments: 'says where agents run; nothing is let in by it',
  conversations: 'what was said and numbered later is lost, and its numbers are given again',
  messages: 'a new session is offered everything that is unacknowledged in the backup',
  inboxes: 'counts the messages as they are',
  nonces: 'what was used stays used; what was used later lies below the floor',
  idempotency: 'the same request gets the same answer, for effects that are in the backup too',
  tasks: 'a claim runs to its end, and no session is left that could renew it',
  task_releases: 'says why claims were given back; nothing is let in by it',
  audit: 'goes on with the records of the restore',
  steady_clock: 'goes on by the wall clock, as after any stop',
  maintenance: 'a store that was off for long skips one run by itself',
  telemetry_hosts: 'shown as stale by their age',
  schema_migrations: 'brought up to date before',
}

export async function restoreTables(tx: Tx, restoring: Restoring): Promise<void> {
  for (const restoration of Object.values(restorations))
    if (typeof restoration !== 'string') await restoration(tx, restoring)
  const counted = await sql<{ n: number }>`select count(*) as n from sessions where state = 'active'`.execute(
    tx.db,
  )
  if (counted.rows[0]?.n !== 0) throw new Error('a session was not fenced')
}
