/**
 * Deletes old audit records by the policy of their project. Records of the node and of deleted projects
 * follow the default. Each batch writes one audit record.
 *
 * The job deletes the longest prefix of old records of each project. An id is never smaller than the first id of
 * its record's time, so the id shows the age.
 *
 * Spec §8; contract §10 "Retention".
 */
import { limits } from '../../sdk/contract/limits.ts'
import { firstIdAt } from '../database/ids.ts'
import { bytesOf, inOrder, upTo } from '../database/sql.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { before, within } from '../maintenance/expired.ts'
import type { BatchBudget, Job } from '../maintenance/job.ts'
import { recordAudit, systemActor } from './store.ts'

export const auditRetention: Job = {
  name: 'audit records removed',
  begin: () => {
    // Undefined before the first project. The records of the node (null) come first.
    let current: string | null | undefined
    let isDone = true
    return async (tx, room) => {
      let done = 0
      do {
        const projectId = isDone ? await nextProject(tx.db, current) : current
        if (projectId === undefined) return { done, more: false }
        current = projectId
        const removed = await removeOld(tx, projectId, { ...room, rows: room.rows - done })
        done += removed.done
        isDone = !removed.more
      } while (done < room.rows && !room.isSpent())
      return { done, more: true }
    }
  },
}

/** Returns the next project that has records, by one index lookup. Undefined after the last one. */
async function nextProject(db: Db, after: string | null | undefined): Promise<string | null | undefined> {
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
  // Records of deleted projects are removed separately, without an audit record.
  if (project?.deleted_at) return { done: 0, more: false }
  const cutoff = before(tx.now, project?.audit_days ?? limits.auditDays)
  const firstKept = firstIdAt(new Date(cutoff))
  const isOld = ({ id }: { readonly id: string }) => id < firstKept
  if (!(await oldest(tx.db, projectId, 1)).every(isOld)) return { done: 0, more: false }
  const records = await oldest(tx.db, projectId, rows)
  const firstRecent = records.findIndex((record) => !isOld(record))
  const old = firstRecent < 0 ? records : records.slice(0, firstRecent)
  const deleted = within(old, bytes)
  const last = deleted.at(-1)
  if (last === undefined) return { done: 0, more: false }
  await tx.db.deleteFrom('audit').where('project_id', 'is', projectId).where(upTo('audit', last.id)).execute()
  await recordAudit(tx, {
    kind: 'audit.removed',
    actor: systemActor,
    project_id: projectId,
    subject: { type: 'audit', id: null },
    details: { removed: deleted.length, before: cutoff },
  })
  return { done: deleted.length, more: deleted.length < old.length || old.length === rows }
}

/** The oldest records of a project, in the order of writing. */
const oldest = (db: Db, projectId: string | null, rows: number) =>
  db
    .selectFrom('audit')
    .select(['id', bytesOf('details').as('bytes')])
    .where('project_id', 'is', projectId)
    .orderBy(inOrder)
    .limit(rows)
    .execute()
