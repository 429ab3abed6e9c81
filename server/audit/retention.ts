/**
 * Removing old audit records, by the policy of their project; those of the node, and of projects that are gone, by the
 * default. Each batch leaves one record of itself.
 *
 * Of each project only the longest beginning goes of which every record is old. An id is never smaller than the first of
 * its record's time, so the id tells the age.
 *
 * Spec §8; contract §10 "Retention".
 */
import { type SqlBool, sql } from 'kysely'
import { limits } from '../../sdk/contract/limits.ts'
import { firstIdAt } from '../database/ids.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { before, within } from '../maintenance/expired.ts'
import type { BatchBudget, Job } from '../maintenance/job.ts'
import { recordAudit, systemActor } from './store.ts'

export const auditRetention: Job = {
  name: 'audit records removed',
  begin: () => {
    // Undefined: the next is the first, the node's own.
    let at: string | null | undefined
    let isDone = true
    return async (tx, room) => {
      let done = 0
      while (done < room.rows && !room.isSpent()) {
        const projectId = isDone ? await following(tx.db, at) : at
        if (projectId === undefined) return { done, more: false }
        at = projectId
        const removed = await removeOld(tx, projectId, { ...room, rows: room.rows - done })
        done += removed.done
        isDone = !removed.more
      }
      return { done, more: true }
    }
  },
}

/** The next project of which there are records, by one look into the index; undefined after the last. */
async function following(db: Db, after: string | null | undefined): Promise<string | null | undefined> {
  if (after === undefined) return null
  const next = await db
    .selectFrom('audit')
    .select('project_id')
    .where('project_id', '>', after ?? '')
    .orderBy('project_id')
    .limit(1)
    .executeTakeFirst()
  return next?.project_id
}

async function removeOld(tx: Tx, projectId: string | null, { rows, bytes }: BatchBudget) {
  const project =
    projectId === null
      ? undefined
      : await tx.db
          .selectFrom('projects')
          .select(['audit_days', 'deleted_at'])
          .where('id', '=', projectId)
          .executeTakeFirst()
  // What was deleted goes another way, and leaves no record of itself.
  if (project?.deleted_at) return { done: 0, more: false }
  const cutoff = before(tx.now, project?.audit_days ?? limits.auditDays)
  const firstKept = firstIdAt(new Date(cutoff))
  const isOld = ({ id }: { readonly id: string }) => id < firstKept
  if (!(await oldest(tx.db, projectId, 1)).every(isOld)) return { done: 0, more: false }
  const looked = await oldest(tx.db, projectId, rows)
  const young = looked.findIndex((record) => !isOld(record))
  const old = young < 0 ? looked : looked.slice(0, young)
  const going = within(old, bytes)
  const last = going.at(-1)
  if (last === undefined) return { done: 0, more: false }
  await tx.db
    .deleteFrom('audit')
    .where('project_id', 'is', projectId)
    .where(sql<SqlBool>`likely(rowid <= ${last.rowid})`)
    .execute()
  await recordAudit(tx, {
    kind: 'audit.removed',
    actor: systemActor,
    project_id: projectId,
    subject: { type: 'audit', id: null },
    details: { removed: going.length, before: cutoff },
  })
  return { done: going.length, more: going.length < old.length || old.length === rows }
}

/** A project's first records, in the order in which they were written. */
const oldest = (db: Db, projectId: string | null, rows: number) =>
  db
    .selectFrom('audit')
    .select([sql<number>`rowid`.as('rowid'), 'id', sql<number>`octet_length(details)`.as('bytes')])
    .where('project_id', 'is', projectId)
    .orderBy(sql`rowid`)
    .limit(rows)
    .execute()
