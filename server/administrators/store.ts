import { limits } from '../../sdk/contract/limits.ts'
import type { Administrator } from '../../sdk/contract/owner/administrators.ts'
import { ApiError } from '../api-error.ts'
import type { OwnerUserRow } from '../database/node-tables.ts'
import { type Page, type PageQuery, placeOf, toPage } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'

const administrators = (db: Db) =>
  db.selectFrom('owner_users').selectAll().where('role', '=', 'administrator')

/** @throws not_found, also if the id is the owner's */
export async function getAdministrator(db: Db, id: string): Promise<OwnerUserRow> {
  const row = await administrators(db).where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw new ApiError('not_found')
  return row
}

export async function listAdministrators(db: Db, query: PageQuery): Promise<Page<Administrator>> {
  const { after, limit = limits.pageDefault } = query
  const place = placeOf(query)
  const rows = await administrators(db)
    .where('id', place.follows, place.from)
    .orderBy('id', place.direction)
    .limit(limit + 1)
    .execute()
  const assigned = await projectIds(
    db,
    rows.map(({ id }) => id),
  )
  return toPage(rows, limit, after, (row) => toAdministrator(row, assigned.get(row.id) ?? []))
}

export async function viewAdministrator(db: Db, id: string): Promise<Administrator> {
  const row = await getAdministrator(db, id)
  return toAdministrator(row, (await projectIds(db, [id])).get(id) ?? [])
}

/** Returns the project ids of each of these people. */
async function projectIds(db: Db, userIds: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom('project_administrators')
    .select(['user_id', 'project_id'])
    .where('user_id', 'in', [...userIds, ''])
    .orderBy('project_id')
    .execute()
  const found = new Map<string, string[]>()
  for (const { user_id, project_id } of rows) {
    const ids = found.get(user_id) ?? []
    ids.push(project_id)
    found.set(user_id, ids)
  }
  return found
}

const toAdministrator = (row: OwnerUserRow, project_ids: string[]): Administrator => ({
  id: row.id,
  name: row.name,
  state: row.state,
  has_password: row.password !== '',
  project_ids,
  created_at: row.created_at,
  updated_at: row.updated_at,
})

export async function insertAdministrator(tx: Tx, name: string): Promise<string> {
  const id = tx.id()
  const times = { created_at: tx.nowIso, updated_at: tx.nowIso }
  const row = { id, name, role: 'administrator', password: '', state: 'enabled', ...times } as const
  await tx.db.insertInto('owner_users').values(row).execute()
  return id
}

export async function updateState(tx: Tx, id: string, state: OwnerUserRow['state']): Promise<void> {
  await tx.db.updateTable('owner_users').set({ state, updated_at: tx.nowIso }).where('id', '=', id).execute()
}

/** Returns whether the row is new. */
export async function assign(tx: Tx, userId: string, projectId: string): Promise<boolean> {
  const done = await tx.db
    .insertInto('project_administrators')
    .values({ user_id: userId, project_id: projectId, created_at: tx.nowIso })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return done.numInsertedOrUpdatedRows === 1n
}

/** Returns whether there was such a row. */
export async function unassign(tx: Tx, userId: string, projectId: string): Promise<boolean> {
  const done = await tx.db
    .deleteFrom('project_administrators')
    .where('user_id', '=', userId)
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return done.numDeletedRows === 1n
}

const ofProject = prepared<{ project_id: string }>()((db, p) =>
  db.selectFrom('project_administrators').select('user_id').where('project_id', '=', p('project_id')),
)

/** Returns the ids of all administrators of a project. */
export async function administratorsOf(db: Db, projectId: string): Promise<string[]> {
  return (await ofProject.all(db, { project_id: projectId })).map(({ user_id }) => user_id)
}
