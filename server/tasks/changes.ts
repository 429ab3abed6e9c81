/**
 * One change of a task, whoever caused it: the row, its notices and its audit record, in one transaction.
 *
 * Contract §8.
 */
import { type Actor, recordAudit, systemActor } from '../audit/store.ts'
import type { Tx } from '../database/tx.ts'
import type { TaskRow } from '../database/work-tables.ts'
import { type Notice, type Notifiers, notify } from './notices.ts'
import { changeTask, insertRelease, type TaskChange } from './store.ts'
import { expiry, isExpired, type TaskNote } from './views.ts'

export interface Change {
  /** `task.` and a verb in the past tense. */
  readonly kind: `task.${string}`
  readonly actor: Actor
  readonly change: TaskChange
  readonly notices: readonly Notice[]
  /** Why the claim is given back. */
  readonly released?: string
  readonly percent?: number | null | undefined
}

export async function recordChange(
  context: Notifiers,
  tx: Tx,
  task: TaskRow,
  what: Change,
): Promise<TaskRow> {
  const changed = await changeTask(tx, task, what.change)
  for (const notice of what.notices) await notify(context, tx, changed, notice)
  if (what.released !== undefined) await insertRelease(tx, task, what.released)
  await recordTask(tx, changed, what)
  // Each side may wait for a state, and only one of them may be sent a notice.
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

/** Write down that a claim is over, if it is. Answers the task as it stands now. */
export async function reconcile(context: Notifiers, tx: Tx, task: TaskRow): Promise<TaskRow> {
  if (!isExpired(task, tx.steadyIso)) return task
  const change = expiry(task, tx.nowIso)
  const what = {
    open: 'the claim expired, the task is open again',
    failed: 'failed, the last claim expired',
    cancelled: 'cancelled, the claim expired and no stop was confirmed',
  }[change.state as 'open' | 'failed' | 'cancelled']
  return recordChange(context, tx, task, {
    kind: 'task.expired',
    actor: systemActor,
    change,
    notices: [
      { to: 'creator', what },
      { to: 'assignee', what },
    ],
  })
}
