import type { Scope } from '../../sdk/contract/endpoint.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Enrollment, EnrollmentStatus } from '../../sdk/contract/owner/enrollments.ts'
import { type Page, type PageQuery, placeOf, toPage } from '../database/page.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import type { Db, EnrollmentRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { type EnrollmentState, stateOf } from './rules.ts'

export async function insertEnrollment(
  tx: Tx,
  enrollment: Omit<EnrollmentRow, 'id' | 'state' | 'created_at' | 'claimed_at' | 'credential_id'>,
): Promise<string> {
  const id = tx.id()
  await tx.db
    .insertInto('enrollments')
    .values({
      ...enrollment,
      id,
      state: 'pending',
      created_at: tx.nowIso,
      claimed_at: null,
      credential_id: null,
    })
    .execute()
  return id
}

/** Returns the enrolment with this code, with the names that the answer to a claim contains. */
export async function findByCode(db: Db, codeSha256: Buffer) {
  return db
    .selectFrom('enrollments')
    .innerJoin('agents', 'agents.id', 'enrollments.agent_id')
    .innerJoin('projects', 'projects.id', 'enrollments.project_id')
    .selectAll('enrollments')
    .select([
      'agents.name as agent_name',
      'agents.role_name',
      'agents.state as agent_state',
      'projects.name as project_name',
      'projects.state as project_state',
    ])
    .where('code_sha256', '=', codeSha256)
    .where('projects.deleted_at', 'is', null)
    .executeTakeFirst()
}

export type EnrollmentView = NonNullable<Awaited<ReturnType<typeof findByCode>>>

export async function findEnrollment(
  db: Db,
  ids: { readonly id: string; readonly agent_id: string; readonly enrollment_id: string },
): Promise<EnrollmentRow | undefined> {
  return db
    .selectFrom('enrollments')
    .selectAll()
    .where('id', '=', ids.enrollment_id)
    .where('agent_id', '=', ids.agent_id)
    .where('project_id', '=', ids.id)
    .executeTakeFirst()
}

export async function findInProject(
  db: Db,
  projectId: string,
  id: string,
): Promise<EnrollmentRow | undefined> {
  return db
    .selectFrom('enrollments')
    .selectAll()
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .executeTakeFirst()
}

export interface EnrollmentQuery extends PageQuery {
  readonly agent_id?: string | undefined
  readonly state?: EnrollmentState | undefined
}

/** Expiry is not a stored state, so the `pending` and `expired` pages compare with the clock. */
export async function listEnrollments(
  db: Db,
  projectId: string,
  query: EnrollmentQuery,
  steady: SteadyClock,
): Promise<Page<Enrollment>> {
  const { after, limit = limits.pageDefault, agent_id, state } = query
  const place = placeOf(query)
  const now = steady.now().toISOString()
  const stored = state === 'expired' ? 'pending' : state
  const rows = await db
    .selectFrom('enrollments')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', place.follows, place.from)
    .$if(agent_id !== undefined, (some) => some.where('agent_id', '=', agent_id ?? ''))
    .$if(stored !== undefined, (some) => some.where('state', '=', stored ?? 'pending'))
    .$if(state === 'pending', (some) => some.where('expires_at', '>', now))
    .$if(state === 'expired', (some) => some.where('expires_at', '<=', now))
    .orderBy('id', place.direction)
    .limit(limit + 1)
    .execute()
  return toPage(rows, limit, after, (row) => toEnrollment(row, steady))
}

export const toStatus = (row: EnrollmentRow, steady: SteadyClock): EnrollmentStatus => ({
  id: row.id,
  state: stateOf(row, steady.now()),
  created_at: row.created_at,
  expires_at: steady.wall(row.expires_at),
  claimed_at: row.claimed_at,
})

export const toEnrollment = (row: EnrollmentRow, steady: SteadyClock): Enrollment => ({
  ...toStatus(row, steady),
  agent_id: row.agent_id,
  binding: row.binding,
  scopes: JSON.parse(row.scopes) as Scope[],
  keep_existing: row.keep_existing === 1,
  credential_id: row.credential_id,
})

export async function markRevoked(tx: Tx, id: string): Promise<void> {
  await tx.db.updateTable('enrollments').set({ state: 'revoked' }).where('id', '=', id).execute()
}

export async function revokePending(tx: Tx, agentId: string): Promise<{ id: string }[]> {
  return tx.db
    .updateTable('enrollments')
    .set({ state: 'revoked' })
    .where('agent_id', '=', agentId)
    .where('state', '=', 'pending')
    .where('expires_at', '>', tx.steadyIso)
    .returning('id')
    .execute()
}

export async function markClaimed(tx: Tx, id: string, credentialId: string): Promise<void> {
  await tx.db
    .updateTable('enrollments')
    .set({ state: 'claimed', claimed_at: tx.nowIso, credential_id: credentialId })
    .where('id', '=', id)
    .execute()
}
