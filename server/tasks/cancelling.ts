/**
 * The changes of a cancellation by the creator or the owner. An open task is cancelled; the holder of a
 * claimed task is asked to stop. Contract §8.
 */
import type { TaskParty } from '../../sdk/contract/agent/tasks.ts'
import type { TaskRow } from '../database/work-tables.ts'
import type { Change } from './changes.ts'
import type { Notice } from './notices.ts'
import type { TaskState } from './rules.ts'

export interface Cancellation {
  readonly by: TaskParty
  readonly reason: string | null
  readonly nowIso: string
}

/** Builds the change. If a cancellation was requested before, the first request remains. */
export function cancelling(
  task: TaskRow,
  next: TaskState,
  cancellation: Cancellation,
): Omit<Change, 'actor'> {
  const { by, reason, nowIso } = cancellation
  const kind = next === 'cancelled' ? 'task.cancelled' : 'task.cancel_requested'
  if (task.cancel_requested_at !== null) return { kind, change: { state: next }, notices: [] }
  return {
    kind,
    change: {
      state: next,
      cancel_requested_at: nowIso,
      cancelled_by_kind: by.kind,
      cancelled_by_agent_id: by.agent_id,
      cancelled_by_name: by.name,
      cancel_reason: reason,
    },
    notices: noticesOf(task, next, cancellation),
  }
}

function noticesOf(task: TaskRow, next: TaskState, { by, reason }: Cancellation): Notice[] {
  const byOwner = by.kind === 'owner'
  const what =
    next === 'cancelled'
      ? `cancelled by ${by.name}`
      : `${by.name} asks to stop; confirm with agent-bridge task stopped`
  const toAssignee: Notice = { to: 'assignee', what, quote: reason, byOwner }
  if (!byOwner || task.creator_kind === 'owner') return [toAssignee]
  return [toAssignee, { to: 'creator', what: `cancelled by ${by.name}`, quote: reason, byOwner }]
}
