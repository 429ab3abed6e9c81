/** SQL of projects. The queries return only projects that the person may see. */
import type { SessionPolicy } from '../../sdk/contract/agent/sessions.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Project } from '../../sdk/contract/owner/projects.ts'
import { ApiError } from '../api-error.ts'
import { type Page, type PageQuery, placeOf, toPage } from '../database/page.ts'
import type { Db, ProjectRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { OwnerCaller } from '../identity/callers.ts'

/** The projects that a person may see: all for the owner, the assigned ones for an administrator. */
function visible(db: Db, owner: OwnerCaller) {
  const all = db.selectFrom('projects').selectAll().where('deleted_at', 'is', null)
  if (owner.role === 'owner') return all
  const assigned = db.selectFrom('project_administrators').select('project_id')
  return all.where('id', 'in', assigned.where('user_id', '=', owner.user_id))
}

/** Ids of all projects that a person may see. */
export const listVisibleIds = async (db: Db, owner: OwnerCaller): Promise<string[]> =>
  (await visible(db, owner).clearSelect().select('id').execute()).map(({ id }) => id)

/** @throws not_found */
export async function getProject(db: Db, owner: OwnerCaller, id: string): Promise<ProjectRow> {
  const row = await visible(db, owner).where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw new ApiError('not_found')
  return row
}

export async function listProjects(db: Db, owner: OwnerCaller, query: PageQuery): Promise<Page<Project>> {
  const { after, limit = limits.pageDefault } = query
  const place = placeOf(query)
  const rows = await visible(db, owner)
    .where('id', place.follows, place.from)
    .orderBy('id', place.direction)
    .limit(limit + 1)
    .execute()
  return toPage(rows, limit, after, toProject)
}

export async function isNameTaken(db: Db, name: string): Promise<boolean> {
  return (
    (await db.selectFrom('projects').select('id').where('name', '=', name).executeTakeFirst()) !== undefined
  )
}

export async function insertProject(
  tx: Tx,
  project: Omit<ProjectRow, 'id' | 'state' | 'created_at' | 'updated_at' | 'deleted_at'>,
): Promise<ProjectRow> {
  const row = {
    ...project,
    id: tx.id(),
    state: 'active' as const,
    created_at: tx.nowIso,
    updated_at: tx.nowIso,
    deleted_at: null,
  }
  await tx.db.insertInto('projects').values(row).execute()
  return row
}

export async function updateProject(
  tx: Tx,
  id: string,
  changed: Partial<Pick<ProjectRow, 'name' | 'description' | keyof Project['policy']>>,
): Promise<void> {
  await tx.db
    .updateTable('projects')
    .set({ ...changed, updated_at: tx.nowIso })
    .where('id', '=', id)
    .execute()
}

export async function updateProjectState(tx: Tx, id: string, state: ProjectRow['state']): Promise<void> {
  await tx.db.updateTable('projects').set({ state, updated_at: tx.nowIso }).where('id', '=', id).execute()
}

/**
 * Marks a project as deleted. It is unknown to all callers from now on. Its name is free, because the row's
 * name becomes its id.
 */
export async function markDeleted(tx: Tx, id: string): Promise<void> {
  await tx.db
    .updateTable('projects')
    .set({ deleted_at: tx.nowIso, state: 'archived', name: id, description: '' })
    .where('id', '=', id)
    .execute()
}

/** Returns projects that were deleted but not removed completely. */
export async function listDeleted(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('projects').select('id').where('deleted_at', 'is not', null).execute()
  return rows.map(({ id }) => id)
}

/** Returns the policy that the project's sessions get. */
export async function getPolicy(db: Db, projectId: string): Promise<SessionPolicy> {
  return db
    .selectFrom('projects')
    .select(['idle_seconds', 'empty_polls'])
    .where('id', '=', projectId)
    .executeTakeFirstOrThrow()
}

export const toProject = (row: ProjectRow): Project => ({
  id: row.id,
  name: row.name,
  description: row.description,
  state: row.state,
  policy: {
    idle_seconds: row.idle_seconds,
    empty_polls: row.empty_polls,
    message_budget: row.message_budget,
    retention_days: row.retention_days,
    audit_days: row.audit_days,
  },
  created_at: row.created_at,
  updated_at: row.updated_at,
})

/** Returns the agents whose waits are notified of changes to the project. */
export async function listAgentIds(db: Db, projectId: string): Promise<string[]> {
  const rows = await db.selectFrom('agents').select('id').where('project_id', '=', projectId).execute()
  return rows.map(({ id }) => id)
}

export async function listCredentialIds(db: Db, projectId: string): Promise<string[]> {
  const rows = await db.selectFrom('credentials').select('id').where('project_id', '=', projectId).execute()
  return rows.map(({ id }) => id)
}

/** Packages of a project whose bytes may exist. */
export async function listPackagesOf(db: Db, projectId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('transfers')
    .select('id')
    .where('project_id', '=', projectId)
    .where('mode', '=', 'package')
    .where('removed_at', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}
