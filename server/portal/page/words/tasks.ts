/** States of tasks in words, with the marks beside them. */
import { connectionLabels, type Task, type TaskEntry } from '../../../../sdk/browser.ts'
import { exact, span, when } from './time.ts'

export type TaskMark = 'open' | 'held' | 'stopping' | 'completed' | 'failed' | 'cancelled'
export type TaskState = Task['state']

export const taskStates: Readonly<Record<TaskState, { readonly mark: TaskMark; readonly words: string }>> = {
  open: { mark: 'open', words: 'Open' },
  claimed: { mark: 'held', words: 'Held' },
  cancel_requested: { mark: 'stopping', words: 'Stopping' },
  completed: { mark: 'completed', words: 'Completed' },
  failed: { mark: 'failed', words: 'Failed' },
  declined: { mark: 'cancelled', words: 'Declined' },
  cancelled: { mark: 'cancelled', words: 'Cancelled' },
}

/** The lists of the board, by the states in them. */
export const columns = [
  { id: 'open', name: 'Open', states: ['open'] },
  { id: 'held', name: 'Held', states: ['claimed'] },
  { id: 'stopping', name: 'Stopping', states: ['cancel_requested'] },
  { id: 'done', name: 'Done', states: ['completed'] },
  { id: 'not-done', name: 'Not done', states: ['failed', 'declined', 'cancelled'] },
] as const satisfies readonly { id: string; name: string; states: readonly TaskState[] }[]
export type Column = (typeof columns)[number]

export const isIn = ({ states }: Column, { state }: Task): boolean =>
  (states as readonly TaskState[]).includes(state)

/** Returns whether a task may still change its state. */
export const isLive = ({ state }: Task): boolean =>
  state === 'open' || state === 'claimed' || state === 'cancel_requested'

export const attemptWords = ({ attempts, max_attempts }: Task): string =>
  attempts === 0 ? 'never claimed' : `attempt ${attempts} of ${max_attempts}`

/**
 * The state of the claim: when it ends, or that it is gone. Undefined if there was none, or if the task has
 * ended. A list does not say whether its holder lost a former claim or gave it back; the timeline does.
 *
 * If the data is older than 30 seconds, the holder may have renewed the claim since.
 */
export function claimWords(
  { state, claim, attempts }: Task,
  nowMs: number,
  isStale: boolean,
): string | undefined {
  if (claim !== null) {
    if (isStale) return `claim: ${connectionLabels.unavailable}`
    const leftMs = Date.parse(claim.expires_at) - nowMs
    return leftMs > 0 ? `claim ends in ${span(leftMs)}` : 'claim lost'
  }
  return state === 'open' && attempts > 0 ? 'claim lost or given back' : undefined
}

/** The end of the last claim of an open task, by its timeline. */
export function lostWords(task: Task, entries: readonly TaskEntry[], holder: string): string | undefined {
  const end = entries.findLast(({ event }) => event === 'expired' || event === 'released')
  if (task.claim !== null || task.attempts === 0 || end === undefined) return undefined
  if (task.state !== 'open' && task.outcome?.kind !== 'attempts_exhausted') return undefined
  const claim = end.claim_generation === null ? 'its claim' : `claim ${end.claim_generation}`
  const what =
    end.event === 'expired'
      ? `Claim lost: ${holder} did not renew ${claim} in time, ${exact(end.at)}.`
      : `${holder} gave ${claim} back, ${exact(end.at)}.`
  return task.state === 'open' ? `${what} The task is open again.` : `${what} No attempt is left.`
}

/** Due time, unless the task has ended. */
export function dueWords(task: Task, nowMs: number): string | undefined {
  if (task.due_at === null || !isLive(task)) return undefined
  const leftMs = Date.parse(task.due_at) - nowMs
  return leftMs > 0 ? `due in ${span(leftMs)}` : `overdue by ${span(-leftMs)}`
}

export interface Notice {
  readonly words: string
  /** True while nobody knows whether the work has stopped. */
  readonly isOpen: boolean
}

/** The answer to the request to stop. Undefined if there is none. */
export function stopWords(task: Task, holder: string): Notice | undefined {
  const { cancellation, state, attempts } = task
  if (cancellation === null) return undefined
  const { stop_confirmed_at: stopped } = cancellation
  if (stopped !== null) return { words: `${holder} confirmed the stop, ${exact(stopped)}.`, isOpen: false }
  if (state === 'cancel_requested')
    return { words: `Asked to stop; ${holder} confirms. Not confirmed yet.`, isOpen: true }
  if (state !== 'cancelled') return { words: `${holder} ended the task before it stopped.`, isOpen: false }
  if (attempts === 0) return { words: 'No agent had claimed it.', isOpen: false }
  return { words: `Stop not confirmed: ${holder} may still be working on it.`, isOpen: true }
}

const events: Readonly<Record<string, string>> = {
  created: 'created the task',
  claimed: 'claimed it',
  renewed: 'renewed the claim',
  progressed: 'reported progress',
  completed: 'completed it',
  failed: 'reported that it failed',
  declined: 'declined it',
  released: 'gave the claim back',
  expired: 'ended the claim: not renewed in time',
  cancelled: 'cancelled it',
  cancel_requested: 'asked to stop',
  stopped: 'confirmed the stop',
}

export const eventWords = ({ event }: TaskEntry): string => events[event] ?? event.replaceAll('_', ' ')

export const progressWords = ({ progress }: Task, nowMs: number): string | undefined =>
  progress === null
    ? undefined
    : `${progress.percent === null ? 'progress' : `${progress.percent} %`}, ${when(progress.reported_at, nowMs)}`

export interface Run {
  /** Last entry of the run. */
  readonly entry: TaskEntry
  readonly count: number
}

/** Joins consecutive renewals of one claim. */
export function runsOf(entries: readonly TaskEntry[]): readonly Run[] {
  const runs: Run[] = []
  for (const entry of entries) {
    const last = runs.at(-1)
    const isSame =
      entry.event === 'renewed' &&
      last?.entry.event === 'renewed' &&
      last.entry.claim_generation === entry.claim_generation
    if (isSame) runs.splice(-1, 1, { entry, count: last.count + 1 })
    else runs.push({ entry, count: 1 })
  }
  return runs
}
