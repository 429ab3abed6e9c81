/**
 * Queries of the audit log. Each follows an index, so the cost of a page depends only on its own size.
 *
 * - If several filters are given, the most selective one chooses the index: subject, then actor with kind,
 *   then kind. A unary `+` excludes the other columns, because without statistics SQLite would guess.
 * - If only an actor is given, the first records of each of its kinds are merged. There are few kinds,
 *   however many records exist.
 * - Ids begin with their time, so `since` and `until` are bounds of the id, and rows are in the order of
 *   their ids.
 *
 * Contract §10.
 */
import { sql } from 'kysely'
import { limits } from '../../sdk/contract/limits.ts'
import type { AuditQuery, AuditRecord } from '../../sdk/contract/owner/audit.ts'
import { firstIdAt } from '../database/ids.ts'
import { afterAll, beforeAll, placeOf } from '../database/page.ts'
import {
  aside,
  below,
  beyond,
  firstOfKinds,
  inOrder,
  inOrderWithin,
  isAmong,
  leastKind,
} from '../database/sql.ts'
import type { AuditRow, Db } from '../database/tables.ts'

const between = (first: string, last: string) =>
  sql<boolean>`${beyond('audit', first)} and ${below('audit', last)}`

/** The ids between which a page lies, both excluded. No record has exactly the first id of an instant. */
function boundsOf({ after, order, since, until }: AuditQuery): [first: string, last: string] {
  const newestFirst = order === 'newest_first'
  const lows = [newestFirst ? undefined : after, since && firstIdAt(new Date(since))]
  const highs = [newestFirst ? after : undefined, until && firstIdAt(new Date(until))]
  const given = (ids: readonly (string | undefined)[]) => ids.filter((id) => id !== undefined).sort()
  return [given(lows).at(-1) ?? beforeAll, given(highs)[0] ?? afterAll]
}

/** Query for up to `limit + 1` records. `projectId` null means the records of the node. */
export function recordsQuery(db: Db, projectId: string | null, query: AuditQuery) {
  const { limit = limits.pageDefault, subject_id: subject, kind, actor_id: actor } = query
  const { direction } = placeOf(query)
  const all = db
    .selectFrom('audit')
    .selectAll()
    .limit(limit + 1)
  if (subject === undefined && kind === undefined && actor !== undefined)
    return all.where(isAmong(firstsOfKinds(projectId, actor, query))).orderBy(inOrder, direction)
  const usesKindIndex = subject === undefined
  return all
    .orderBy(inOrderWithin(usesKindIndex ? 'project_id' : 'subject_id', direction))
    .where(usesKindIndex ? 'project_id' : aside('project_id'), 'is', projectId)
    .where(between(...boundsOf(query)))
    .$if(subject !== undefined, (some) => some.where('subject_id', '=', subject ?? ''))
    .$if(kind !== undefined, (some) => some.where(usesKindIndex ? 'kind' : aside('kind'), '=', kind ?? ''))
    .$if(actor !== undefined, (some) =>
      some.where(usesKindIndex ? 'actor_id' : aside('actor_id'), '=', actor ?? ''),
    )
}

/**
 * Rowids of an actor's records: of each kind as many as a page may need. A recursive query finds the kinds,
 * with one index lookup each.
 */
function firstsOfKinds(projectId: string | null, actor: string, query: AuditQuery) {
  const mine = projectId === null ? sql`project_id is null` : sql`project_id = ${projectId}`
  const by = sql`from audit where ${mine} and actor_id = ${actor}`
  const { direction } = placeOf(query)
  const maxRows = (query.limit ?? limits.pageDefault) + 1
  const firsts = sql`select ${inOrder} ${by} and kind = kinds.kind and ${between(...boundsOf(query))}
    order by ${inOrderWithin('project_id', direction)} limit ${maxRows}`
  return sql<number>`
    with recursive kinds (kind) as (
      ${leastKind(by)}
      union all
      select (${leastKind(sql`${by} and kind > kinds.kind`)}) from kinds where kind is not null
    )
    ${firstOfKinds(firsts, direction, maxRows)}`
}

export const listRecords = (db: Db, projectId: string | null, query: AuditQuery): Promise<AuditRow[]> =>
  recordsQuery(db, projectId, query).execute()

export async function findRecord(db: Db, projectId: string, id: string): Promise<AuditRow | undefined> {
  return db
    .selectFrom('audit')
    .selectAll()
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .executeTakeFirst()
}

export const toRecord = (row: AuditRow): AuditRecord => ({
  id: row.id,
  at: row.at,
  kind: row.kind,
  project_id: row.project_id,
  actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
  subject: { type: row.subject_type, id: row.subject_id },
  request_id: row.request_id,
  details: JSON.parse(row.details) as Record<string, unknown>,
})
