/**
 * Reading the audit: each query runs along one index, and a page costs what it shows.
 *
 * - Of several filters the most telling one chooses the index: subject, then kind, then actor. A `+` keeps the others out
 *   of the choice, which without statistics would be a guess.
 * - Ids begin with their time, so `since` and `until` are bounds of the id.
 *
 * Contract §10.
 */
import { type Kysely, sql } from 'kysely'
import { limits } from '../../sdk/contract/limits.ts'
import type { AuditQuery, AuditRecord } from '../../sdk/contract/owner/audit.ts'
import { firstIdAt } from '../database/ids.ts'
import { beforeAll } from '../database/page.ts'
import type { AuditRow, Tables } from '../database/tables.ts'

type Db = Kysely<Tables>

/** Greater than any id. */
const afterAll = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Half of all records each; the index by kind leaves them out. */
const common: ReadonlySet<string> = new Set(['message.sent', 'message.acknowledged'])
const isUncommon = sql<boolean>`kind not in ('message.sent', 'message.acknowledged')`

const notChoosing = (name: 'kind' | 'actor_id') => sql<string>`+${sql.ref(name)}`

/** Without `likely` a range counts as more telling than an equal actor. */
const between = (first: string, last: string) => sql<boolean>`likely(id > ${first}) and likely(id < ${last})`

/** The ids that a page may hold: no id is as small, or as great, as the first of a moment. */
function boundsOf({ after, order, since, until }: AuditQuery): [first: string, last: string] {
  const newestFirst = order === 'newest_first'
  const lows = [newestFirst ? undefined : after, since && firstIdAt(new Date(since))]
  const highs = [newestFirst ? after : undefined, until && firstIdAt(new Date(until))]
  const given = (ids: readonly (string | undefined)[]) => ids.filter((id) => id !== undefined).sort()
  return [given(lows).at(-1) ?? beforeAll, given(highs)[0] ?? afterAll]
}

/** Up to `limit + 1` records. `projectId` null: those of the node itself. */
export function recordsQuery(db: Db, projectId: string | null, query: AuditQuery) {
  const { limit = limits.pageDefault, order, subject_id: subject, kind, actor_id: actor } = query
  const byKind = subject === undefined && kind !== undefined && !common.has(kind)
  const byActor = subject === undefined && !byKind
  return db
    .selectFrom('audit')
    .selectAll()
    .where('project_id', 'is', projectId)
    .where(between(...boundsOf(query)))
    .orderBy('id', order === 'newest_first' ? 'desc' : 'asc')
    .limit(limit + 1)
    .$if(subject !== undefined, (all) => all.where('subject_id', '=', subject ?? ''))
    .$if(byKind, (all) => all.where('kind', '=', kind ?? '').where(isUncommon))
    .$if(!byKind && kind !== undefined, (all) => all.where(notChoosing('kind'), '=', kind ?? ''))
    .$if(actor !== undefined, (all) =>
      all.where(byActor ? 'actor_id' : notChoosing('actor_id'), '=', actor ?? ''),
    )
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
