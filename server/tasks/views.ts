/**
 * Converts tasks to the wire format, with the state at the server's clock, even if the expiry of a claim is
 * not recorded yet.
 */
import type { Evidence, Task, TaskEntry, TaskParty } from '../../sdk/contract/agent/tasks.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import type { TaskRow } from '../database/work-tables.ts'
import { decide } from './rules.ts'
import type { listTimeline, TaskChange } from './store.ts'

/** The changes of a task when its claim expires. */
export function expiry(task: TaskRow, atIso: string): TaskChange {
  const state = decide(task, 'expire', () => ({}))
  const expired = { state, claim_ends_at: null, claim_end: 'expired' } as const
  if (state !== 'failed') return expired
  return {
    ...expired,
    outcome_kind: 'attempts_exhausted',
    outcome_at: atIso,
    outcome_result: 'The claim expired.',
  }
}

export const isExpired = (task: TaskRow, steadyIso: string): boolean =>
  task.claim_ends_at !== null && task.claim_ends_at <= steadyIso

/** Returns the current task, even if the expiry of its claim is not recorded yet. */
export function current(task: TaskRow, steady: SteadyClock): TaskRow {
  const now = steady.now().toISOString()
  if (!isExpired(task, now)) return task
  const at = steady.wall(task.claim_ends_at ?? now)
  return { ...task, ...expiry(task, at), updated_at: at }
}

const party = (kind: TaskParty['kind'], agent_id: string | null, name: string): TaskParty => ({
  kind,
  agent_id,
  name,
})

export function toTask(task: TaskRow, steady: SteadyClock): Task {
  return {
    id: task.id,
    project_id: task.project_id,
    conversation_id: task.conversation_id,
    creator: party(task.creator_kind, task.creator_agent_id, task.creator_name),
    assignee_agent_id: task.assignee_agent_id,
    title: task.title,
    instructions: task.instructions,
    state: task.state,
    attempts: task.attempts,
    max_attempts: task.max_attempts,
    claim_ttl_seconds: task.claim_ttl_seconds,
    due_at: task.due_at,
    claim: claimOf(task, steady),
    cancellation: cancellationOf(task),
    progress: progressOf(task),
    outcome: outcomeOf(task),
    created_at: task.created_at,
    updated_at: task.updated_at,
  }
}

export function claimOf(task: TaskRow, steady: SteadyClock): Task['claim'] {
  const { claim_session_id, claim_session_generation, claimed_at, claim_ends_at } = task
  if (claim_ends_at === null || claim_session_id === null) return null
  if (claim_session_generation === null || claimed_at === null) return null
  return {
    generation: task.claim_generation,
    session_id: claim_session_id,
    session_generation: claim_session_generation,
    claimed_at,
    expires_at: steady.wall(claim_ends_at),
  }
}

function cancellationOf(task: TaskRow): Task['cancellation'] {
  const { cancel_requested_at, cancelled_by_kind, cancelled_by_name } = task
  if (cancel_requested_at === null || cancelled_by_kind === null || cancelled_by_name === null) return null
  return {
    requested_at: cancel_requested_at,
    requested_by: party(cancelled_by_kind, task.cancelled_by_agent_id, cancelled_by_name),
    reason: task.cancel_reason,
    stop_confirmed_at: task.stop_confirmed_at,
  }
}

function progressOf({ progress_note, progress_percent, progress_at }: TaskRow): Task['progress'] {
  if (progress_at === null) return null
  return { note: progress_note, percent: progress_percent, reported_at: progress_at }
}

function outcomeOf(task: TaskRow): Task['outcome'] {
  const { outcome_kind, outcome_result, outcome_evidence, outcome_at } = task
  if (outcome_kind === null || outcome_at === null) return null
  const evidence = outcome_evidence === null ? [] : (JSON.parse(outcome_evidence) as Evidence[])
  return { kind: outcome_kind, result: outcome_result, evidence, reported_at: outcome_at }
}

/** Audit details of every change of a task. They contain no text of the two sides. */
export interface TaskNote {
  readonly state: TaskRow['state']
  readonly claim_generation: number
  readonly percent?: number | null
}

/**
 * Builds a timeline entry. The reason is read from the task, or from `releases` (by claim generation) for
 * released claims.
 */
export function toEntry(
  row: Awaited<ReturnType<typeof listTimeline>>[number],
  task: TaskRow,
  releases: ReadonlyMap<number, string>,
): TaskEntry {
  const note = JSON.parse(row.details) as TaskNote
  return {
    id: row.id,
    at: row.at,
    event: row.kind.replace(/^task\./, ''),
    actor: { kind: row.actor_kind === 'anonymous' ? 'system' : row.actor_kind, name: row.actor_name },
    state: note.state,
    claim_generation: note.claim_generation === 0 ? null : note.claim_generation,
    reason:
      reasonOf(row, task) ??
      (row.kind === 'task.released' ? releases.get(note.claim_generation) : null) ??
      null,
    percent: note.percent ?? null,
  }
}

function reasonOf(
  { kind, at }: { readonly kind: string; readonly at: string },
  task: TaskRow,
): string | null {
  if (kind === 'task.failed' || kind === 'task.declined') return task.outcome_result
  const isCancel = kind === 'task.cancelled' || kind === 'task.cancel_requested'
  // A repeated request changes nothing, so its reason is not shown.
  return isCancel && at === task.cancel_requested_at ? task.cancel_reason : null
}
