import type { RecipientKey } from '../../sdk/contract/agent/peers.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Agent, AgentProfileInput } from '../../sdk/contract/owner/agents.ts'
import type { Connection } from '../../sdk/contract/presence.ts'
import { ApiError } from '../api-error.ts'
import { type PageQuery, placeOf } from '../database/page.ts'
import type { AgentRow, Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { RecipientKeyRow } from '../database/work-tables.ts'
import type { StoredContact } from '../delivery/connection.ts'
/** An agent with its recipient key and stored contact. */
export type AgentView = AgentRow &
  StoredContact & {
    readonly recipient: string | null
    readonly key_fingerprint: string | null
    readonly registered_at: string | null
    readonly registered_by: RecipientKeyRow['registered_by'] | null
  }

/** Joins an agent with its key and its newest session, which is found by index. */
export const agentViews = (db: Db) =>
  db
    .selectFrom('agents')
    .leftJoin('recipient_keys', 'recipient_keys.agent_id', 'agents.id')
    .leftJoin('sessions as newest', (join) =>
      join
        .onRef('newest.agent_id', '=', 'agents.id')
        .onRef('newest.generation', '=', 'agents.session_generation'),
    )
    .leftJoin('credentials as used', 'used.id', 'newest.credential_id')
    .selectAll('agents')
    .select([
      'recipient_keys.recipient',
      'recipient_keys.fingerprint as key_fingerprint',
      'recipient_keys.registered_at',
      'recipient_keys.registered_by',
    ])
    .select([
      'newest.last_contact_at',
      'newest.state as session_state',
      'newest.contact_mode',
      'newest.contact_interval_seconds',
      'used.expires_at as credential_expires_at',
      'used.revoked_at as credential_revoked_at',
      'agents.state as agent_state',
    ])

/** @throws not_found */
export async function getAgent(db: Db, projectId: string, id: string): Promise<AgentView> {
  const row = await agentViews(db)
    .where('agents.id', '=', id)
    .where('agents.project_id', '=', projectId)
    .executeTakeFirst()
  if (row === undefined) throw new ApiError('not_found')
  return row
}

export interface AgentQuery extends PageQuery {
  readonly state?: AgentRow['state'] | undefined
}

export async function listAgents(db: Db, projectId: string, query: AgentQuery): Promise<AgentView[]> {
  const { limit = limits.pageDefault, state } = query
  const place = placeOf(query)
  return agentViews(db)
    .where('agents.project_id', '=', projectId)
    .where('agents.id', place.follows, place.from)
    .$if(state !== undefined, (some) => some.where('agents.state', '=', state ?? 'enabled'))
    .orderBy('agents.id', place.direction)
    .limit(limit + 1)
    .execute()
}

export async function isNameTaken(db: Db, projectId: string, name: string): Promise<boolean> {
  const row = await db
    .selectFrom('agents')
    .select('id')
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertAgent(
  tx: Tx,
  agent: Pick<
    AgentRow,
    'project_id' | 'environment_id' | 'name' | 'role_name' | 'description' | 'prompt_template'
  >,
): Promise<string> {
  const id = tx.id()
  await tx.db
    .insertInto('agents')
    .values({
      ...agent,
      id,
      instructions: '',
      instructions_updated_at: null,
      state: 'enabled',
      session_generation: 0,
      created_at: tx.nowIso,
    })
    .execute()
  return id
}

/** Returns the agent's credentials that are not revoked. */
export async function listUnrevoked(db: Db, agentId: string): Promise<{ id: string }[]> {
  return db
    .selectFrom('credentials')
    .select('id')
    .where('agent_id', '=', agentId)
    .where('revoked_at', 'is', null)
    .execute()
}

export async function updateAgentState(tx: Tx, id: string, state: AgentRow['state']): Promise<void> {
  await tx.db.updateTable('agents').set({ state }).where('id', '=', id).execute()
}

export async function updateName(tx: Tx, id: string, name: string): Promise<void> {
  await tx.db.updateTable('agents').set({ name }).where('id', '=', id).execute()
}

export async function updateProfile(tx: Tx, id: string, changed: AgentProfileInput): Promise<void> {
  await tx.db.updateTable('agents').set(changed).where('id', '=', id).execute()
}

export async function updateInstructions(
  tx: Tx,
  id: string,
  instructions: string,
  updatedAt: string,
): Promise<void> {
  await tx.db
    .updateTable('agents')
    .set({ instructions, instructions_updated_at: updatedAt })
    .where('id', '=', id)
    .execute()
}

export function recipientKeyOf(row: AgentView): RecipientKey | null {
  if (row.recipient === null || row.registered_at === null || row.registered_by === null) return null
  return {
    agent_id: row.id,
    recipient: row.recipient,
    fingerprint: row.key_fingerprint ?? '',
    registered_at: row.registered_at,
    registered_by: row.registered_by,
  }
}

/**
 * Derives the legacy role. "The legacy role field on peers is kept for compatibility; role_name is the
 * current field." Spec §9.
 */
export const legacyRole = (roleName: string): string =>
  roleName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

export const toAgent = (row: AgentView, connection: Connection): Agent => ({
  id: row.id,
  project_id: row.project_id,
  environment_id: row.environment_id,
  name: row.name,
  role_name: row.role_name,
  role: legacyRole(row.role_name),
  description: row.description,
  prompt_template: row.prompt_template,
  state: row.state,
  recipient_key: recipientKeyOf(row),
  connection,
  created_at: row.created_at,
})
