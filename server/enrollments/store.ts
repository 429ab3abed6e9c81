/** The SQL of enrolments: found by the hash of their code, which alone is stored. */
import type { Kysely } from 'kysely'
import type { EnrollmentRow, Tables } from '../database/tables.ts'
import type { Tx } from '../database/transaction.ts'

type Db = Kysely<Tables>

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

/** The enrolment behind a code, with the names that a claim answers. */
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

export async function revokePending(tx: Tx, agentId: string): Promise<{ id: string }[]> {
  return tx.db
    .updateTable('enrollments')
    .set({ state: 'revoked' })
    .where('agent_id', '=', agentId)
    .where('state', '=', 'pending')
    .where('expires_at', '>', tx.nowIso)
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
