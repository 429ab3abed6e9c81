import type { Connection } from '../../sdk/contract/presence.ts'
import type { Context } from '../context.ts'
import { sessionColumns } from '../database/columns.ts'
import { prepared } from '../database/prepared.ts'
import type { Db, SessionRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'

const active = prepared<{ agent_id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .select(sessionColumns)
    .where('agent_id', '=', p('agent_id'))
    .where('state', '=', 'active'),
)

export const findActive = (db: Db, agentId: string): Promise<SessionRow | undefined> =>
  active.first(db, { agent_id: agentId })

/** Last contact and contact schedule of the agent's newest session, whatever its state. */
const newest = prepared<{ agent_id: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .innerJoin('credentials', 'credentials.id', 'sessions.credential_id')
    .innerJoin('agents', 'agents.id', 'sessions.agent_id')
    .select([
      'sessions.last_contact_at',
      'sessions.state as session_state',
      'sessions.contact_mode',
      'sessions.contact_interval_seconds',
      'credentials.expires_at as credential_expires_at',
      'credentials.revoked_at as credential_revoked_at',
      'agents.state as agent_state',
    ])
    .where('sessions.agent_id', '=', p('agent_id'))
    .orderBy('sessions.generation', 'desc')
    .limit(1),
)

export async function connectionOf(
  context: Context,
  db: Db,
  agentId: string,
  now: Date,
): Promise<Connection> {
  const stored = await newest.first(db, { agent_id: agentId })
  return context.presence.connection(agentId, now, stored)
}

/** Returns the next generation of an agent. It only ever increases. */
export async function nextGeneration(tx: Tx, agentId: string): Promise<number> {
  const row = await tx.db
    .updateTable('agents')
    .set((eb) => ({ session_generation: eb('session_generation', '+', 1) }))
    .where('id', '=', agentId)
    .returning('session_generation')
    .executeTakeFirstOrThrow()
  return row.session_generation
}

export async function insertSession(
  tx: Tx,
  session: Pick<
    SessionRow,
    | 'project_id'
    | 'agent_id'
    | 'credential_id'
    | 'instance_id'
    | 'generation'
    | 'client_name'
    | 'client_version'
    | 'replaced_session_id'
    | 'grant_sha256'
  >,
): Promise<SessionRow> {
  return tx.db
    .insertInto('sessions')
    .values({
      ...session,
      id: tx.id(),
      state: 'active',
      started_at: tx.steadyIso,
      last_contact_at: tx.steadyIso,
      ended_at: null,
      contact_mode: null,
      contact_interval_seconds: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Ends active sessions permanently and returns them with their agents. */
export async function endSessions(
  tx: Tx,
  state: 'fenced' | 'closed',
  which: { readonly agentId: string } | { readonly credentialId: string } | { readonly id: string },
): Promise<{ id: string; agent_id: string }[]> {
  const ended = tx.db
    .updateTable('sessions')
    .set({ state, ended_at: tx.nowIso })
    .where('state', '=', 'active')
    .returning(['id', 'agent_id'])
  if ('agentId' in which) return ended.where('agent_id', '=', which.agentId).execute()
  if ('credentialId' in which) return ended.where('credential_id', '=', which.credentialId).execute()
  return ended.where('id', '=', which.id).execute()
}

/**
 * Times, in steady time and newest first, at which other sessions replaced the agent's session since `since`.
 * Takeovers by the owner do not count.
 */
export async function listReplacements(tx: Tx, agentId: string, since: string): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('sessions')
    .select('started_at')
    .where('agent_id', '=', agentId)
    .where('replaced_session_id', 'is not', null)
    .where('grant_sha256', 'is', null)
    .where('started_at', '>', since)
    .orderBy('generation', 'desc')
    .execute()
  return rows.map(({ started_at }) => started_at)
}

/**
 * Agents to be paired. "Starting a session pairs the agent with every enabled agent of its project, except
 * pairs that the owner disabled."
 */
export async function findUnpaired(tx: Tx, projectId: string, agentId: string): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('agents')
    .select('id')
    .where('project_id', '=', projectId)
    .where('state', '=', 'enabled')
    .where('id', '!=', agentId)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('pairings')
            .select('pairings.id')
            .where((pair) =>
              pair.or([
                pair.and([pair('agent_a', '=', agentId), pair('agent_b', '=', pair.ref('agents.id'))]),
                pair.and([pair('agent_b', '=', agentId), pair('agent_a', '=', pair.ref('agents.id'))]),
              ]),
            ),
        ),
      ),
    )
    .execute()
  return rows.map((row) => row.id)
}

const heldBy = prepared<{ agent_id: string; session_id: string; now: string }>()((db, p) =>
  db
    .selectFrom('tasks')
    .select('id')
    .where('assignee_agent_id', '=', p('agent_id'))
    .where('claim_ends_at', 'is not', null)
    .where('claim_ends_at', '>', p('now'))
    .where('claim_session_id', '=', p('session_id'))
    .limit(1),
)

/** Whether a session of the agent holds an unexpired claim. */
export const holdsClaim = async (
  db: Db,
  agentId: string,
  sessionId: string,
  steadyIso: string,
): Promise<boolean> =>
  (await heldBy.first(db, { agent_id: agentId, session_id: sessionId, now: steadyIso })) !== undefined
