/**
 * Applies one change of a task: the row, its notices and its audit record, in one transaction.
 *
 * Contract §8.
 */
import type { AuditKindOf } from '../../sdk/contract/audit-kinds.ts'
import { type Actor, recordAudit, systemActor } from '../audit/store.ts'
import type { Tx } from '../database/tx.ts'
import type { TaskRow } from '../database/work-tables.ts'
import { type Notice, type Notifiers, notify } from './notices.ts'
import { changeTask, insertRelease, type TaskChange } from './store.ts'
import { expiry, isExpired, type TaskNote } from './views.ts'

export interface Change {
  readonly kind: AuditKindOf<'task'>
  readonly actor: Actor
  readonly change: TaskChange
  readonly notices: readonly Notice[]
  /** Reason for which the claim was released. */
  readonly released?: string
  readonly percent?: number | null | undefined
}

export async function recordChange(
  context: Notifiers,
  tx: Tx,
  task: TaskRow,
  entry: Change,
): Promise<TaskRow> {
  const changed = await changeTask(tx, task, entry.change)
  for (const notice of entry.notices) await notify(context, tx, changed, notice)
  if (entry.released !== undefined) await insertRelease(tx, task, entry.released)
  await recordTask(tx, changed, entry)
  // Wakes both sides, because each may wait for a state and only one may get a notice.
  if (changed.state !== task.state)
    for (const side of [changed.assignee_agent_id, changed.creator_agent_id])
      if (side !== null) tx.afterCommit(() => context.wakeups.notify(side))
  return changed
}

export async function recordTask(
  tx: Tx,
  task: TaskRow,
  { kind, actor, percent }: Pick<Change, 'kind' | 'actor' | 'percent'>,
): Promise<void> {
  const note: TaskNote = {
    state: task.state,
    claim_generation: task.claim_generation,
    ...(percent != null && { percent }),
  }
  await recordAudit(tx, {
    kind,
    actor,
    project_id: task.project_id,
    subject: { type: 'task', id: task.id },
    details: { ...note },
  })
}

/** Records the expiry of the claim if it has expired, and returns the current task. */
export async function reconcile(context: Notifiers, tx: Tx, task: TaskRow): Promise<TaskRow> {
  if (!isExpired(task, tx.steadyIso)) return task
  const change = expiry(task, tx.nowIso)
  const text = {
    open: 'the claim expired, the task is open again',
    failed: 'failed, the last claim expired',
    cancelled: 'cancelled, the claim expired and no stop was confirmed',
  }[change.state as 'open' | 'failed' | 'cancelled']
  return recordChange(context, tx, task, {
    kind: 'task.expired',
    actor: systemActor,
    change,
    notices: [
      { to: 'creator', what: text },
      { to: 'assignee', what: text },
    ],
  })
}
