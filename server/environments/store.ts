import { limits } from '../../sdk/contract/limits.ts'
import type {
  Environment,
  EnvironmentInput,
  EnvironmentProfileInput,
} from '../../sdk/contract/owner/environments.ts'
import { ApiError } from '../api-error.ts'
import { type Page, type PageQuery, placeOf, toPage } from '../database/page.ts'
import type { Db, EnvironmentRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'

export async function findEnvironment(
  db: Db,
  projectId: string,
  id: string,
): Promise<EnvironmentRow | undefined> {
  return db
    .selectFrom('environments')
    .selectAll()
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .executeTakeFirst()
}

/** @throws not_found */
export async function getEnvironment(db: Db, projectId: string, id: string): Promise<EnvironmentRow> {
  const row = await findEnvironment(db, projectId, id)
  if (row === undefined) throw new ApiError('not_found')
  return row
}

export async function isNameTaken(db: Db, projectId: string, name: string): Promise<boolean> {
  const row = await db
    .selectFrom('environments')
    .select('id')
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertEnvironment(
  tx: Tx,
  projectId: string,
  input: EnvironmentInput,
): Promise<Environment> {
  const row = {
    id: tx.id(),
    project_id: projectId,
    name: input.name,
    kind: input.kind,
    description: input.description ?? '',
    created_at: tx.nowIso,
  }
  await tx.db.insertInto('environments').values(row).execute()
  return row
}

export async function updateEnvironment(tx: Tx, id: string, changed: EnvironmentProfileInput): Promise<void> {
  await tx.db.updateTable('environments').set(changed).where('id', '=', id).execute()
}

export async function listEnvironments(
  db: Db,
  projectId: string,
  query: PageQuery,
): Promise<Page<Environment>> {
  const { after, limit = limits.pageDefault } = query
  const place = placeOf(query)
  const rows = await db
    .selectFrom('environments')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', place.follows, place.from)
    .orderBy('id', place.direction)
    .limit(limit + 1)
    .execute()
  return toPage(rows, limit, after, (row) => row)
}
