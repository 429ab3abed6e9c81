/**
 * Defines what a restore does to each table, so that state from before or after the backup does no harm.
 *
 * Every table must be listed here, or the code does not compile. Each entry changes the table, or says why it
 * stays as it is.
 *
 * - Sessions, takeover grants, challenges, enrolment codes, links, sign-ins and encrypted secrets end.
 * - The telemetry token ends, unless the replaced database can be read and has the same token.
 * - Credentials that were revoked before the backup are revoked in it. Those revoked later are known if the
 *   replaced database can be read, and are revoked again. If it cannot, all agents with a valid credential
 *   are disabled until the owner has reviewed them, unless the operator vouches for them.
 * - Session generations continue above every generation that was ever used, so that state of a lost session
 *   matches no later one.
 * - Claims expire as after any fencing, because their holders cannot renew them.
 *
 * Contract §3, §5, §9.
 */
import { updateAgentState } from '../../agents/store.ts'
import { recordAudit, systemActor } from '../../audit/store.ts'
import type { Context } from '../../context.ts'
import { markRevoked } from '../../credentials/store.ts'
import type { Tables } from '../../database/tables.ts'
import type { Tx } from '../../database/tx.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { putRecipientKey } from '../../recipient-keys/store.ts'
import { fence } from '../../sessions/fencing.ts'
import { notify } from '../../transfers/notices.ts'
import { recordTransfer } from '../../transfers/records.ts'
import { decide } from '../../transfers/rules.ts'
import { changeTransfer } from '../../transfers/store.ts'
import type { Known } from './known.ts'
import type { EndedTransfer, ReviewedGrant } from './review.ts'

/** State of one restore: its input, its decisions and its findings. */
export interface Restoring {
  readonly context: Pick<Context, 'wakeups'>
  readonly known: Known | undefined
  /** The operator vouches that no credential was revoked since the backup, so all stay valid. */
  readonly accepted: boolean
  /** Higher than every generation that was used, before or after the backup. */
  readonly generation: number
  /** Whether the bytes of a package are in the data folder. */
  readonly hasBytes: (transfer: TransferRow) => boolean
  /** Open grants that the restore ended; `expires_at` is in steady time. */
  readonly grants: ReviewedGrant[]
  readonly transfers: EndedTransfer[]
  /** Agents that this restore disabled, because it is unknown whether they were revoked. */
  readonly held: Set<string>
  /** Credentials that were revoked after the backup. */
  readonly revoked: Set<string>
  fenced: number
}

export type Restoration = (tx: Tx, restoring: Restoring) => Promise<void>

const reason = 'restored from a backup'
const cause = { actor: systemActor } as const

/**
 * The next start finishes removals that were running. A project that was deleted after the backup is deleted
 * again.
 */
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
    const grantKind = kind === 'setup' ? 'setup_link' : 'sign_in_link'
    grants.push({ kind: grantKind, id: null, of: name ?? 'the owner', project: null, expires_at })
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
    await fence(restoring.context, tx, { id }, { ...cause, project_id, reason: 'restored' })
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
    await recordAudit(tx, { kind: 'credential.revoked', ...cause, project_id, subject, details: { reason } })
  }
}

/** Runs after the credentials: an agent without a valid credential is not disabled for review. */
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
        .as('has_credential'),
    )
    .where('state', '=', 'enabled')
    .execute()
  for (const { id, project_id, has_credential } of enabled) {
    const isHeld = known === undefined && !accepted && Boolean(has_credential)
    if (!isHeld && known?.disabledAgents.has(id) !== true) continue
    await updateAgentState(tx, id, 'disabled')
    if (isHeld) held.add(id)
    const subject = { type: 'agent', id }
    await recordAudit(tx, { kind: 'agent.disabled', ...cause, project_id, subject, details: { reason } })
  }
}

/**
 * Also inserts a disabled pair that the backup lacks. Otherwise the next session start of either agent would
 * enable it.
 */
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

/**
 * A key that was set after the backup is the agent's current key. Without a key that it registered only then,
 * files to it would go unencrypted.
 */
const recipientKeys: Restoration = async (tx, { known }) => {
  const there = new Set((await tx.db.selectFrom('agents').select('id').execute()).map(({ id }) => id))
  for (const key of known?.recipientKeys.values() ?? [])
    if (there.has(key.agent_id)) await putRecipientKey(tx, key)
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
    await recordAudit(tx, { kind: 'enrollment.revoked', ...cause, project_id, subject, details: { reason } })
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

/** The helpers and tunnels of these transfers have ended, and the envelope key may have changed. */
const transferSecrets: Restoration = async (tx) => {
  await tx.db.deleteFrom('transfer_secrets').execute()
}

/** Whether an object store holds parts. It still has them, unless the transfer ended after the backup. */
async function hasParts(tx: Tx, id: string): Promise<boolean> {
  const parts = tx.db.selectFrom('transfer_parts').select('part').where('transfer_id', '=', id)
  return (await parts.limit(1).executeTakeFirst()) !== undefined
}

/**
 * A backup does not contain the bytes of packages. A transfer whose uploaded bytes are missing can never be
 * received.
 */
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
    if (hasBytes(transfer) || (await hasParts(tx, transfer.id))) continue
    const state = decide(transfer.state, transfer.state === 'accepted' ? 'fail' : 'cancel')
    if (state !== 'failed' && state !== 'cancelled') continue
    const changed = await changeTransfer(tx, transfer, { state, ends_at: null })
    const notice = {
      what: state,
      note: 'the node was restored from a backup, which does not contain the bytes of packages; offer the file again',
    } as const
    await notify(context, tx, changed, { ...notice, to: 'sender' })
    await notify(context, tx, changed, { ...notice, to: 'recipient' })
    const kind = state === 'failed' ? 'transfer.failed' : 'transfer.cancelled'
    await recordTransfer(tx, changed, { kind, ...cause, reason })
    ended.push({ transfer_id: transfer.id, project, filename: transfer.filename, state })
  }
}

/**
 * Checks the floor, which was raised when the database was opened (see `restore.ts`), because it alone
 * refuses proofs signed before the restore.
 */
const replayFloor: Restoration = async (tx) => {
  const { floor } = await tx.db.selectFrom('replay_floor').select('floor').executeTakeFirstOrThrow()
  if (floor * 1000 < tx.now.getTime()) throw new Error('the replay floor was not raised')
}

/** It is the same node, and clients know its id. Sealed secrets have ended, so the node may have another key. */
const server: Restoration = async (tx) => {
  await tx.db.updateTable('server').set({ envelope_key_check: null }).execute()
}

/** Runs in the order of the list. */
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

  server,
  environments: 'describes where agents run and grants no access',
  conversations: 'messages after the backup are lost, and their sequence numbers are used again',
  messages: 'a new session is offered all messages that are unacknowledged in the backup',
  inboxes: 'counts of the messages, which do not change',
  nonces: 'used nonces stay used; the replay floor refuses proofs signed between backup and restore',
  idempotency: 'stored answers belong to effects that are in the backup too',
  tasks: 'claims expire, because no session is left that could renew them',
  transfer_parts: 'the object store keeps the bytes of packages; a part that it lacks is sent again',
  task_releases: 'records why claims were released and grants no access',
  audit: 'continues with the records of the restore',
  steady_clock: 'continues from the wall clock, as after any stop',
  maintenance: 'maintenance skips one run after a long stop anyway',
  telemetry_hosts: 'samples are shown as stale because of their age',
  moved: 'empty in a backup: a database from which the installation has left is not backed up',
  schema_migrations: 'the backup is migrated before these entries run',
}

export async function restoreTables(tx: Tx, restoring: Restoring): Promise<void> {
  for (const restoration of Object.values(restorations))
    if (typeof restoration !== 'string') await restoration(tx, restoring)
  const active = await tx.db
    .selectFrom('sessions')
    .select('id')
    .where('state', '=', 'active')
    .limit(1)
    .executeTakeFirst()
  if (active !== undefined) throw new Error('a session was not fenced')
}
