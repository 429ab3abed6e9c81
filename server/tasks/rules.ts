/**
 * Rules of tasks: one complete transition table, and the party that may cause each event.
 *
 * - Every state has a cell for every event: the next state or the refusal. A missing cell does not compile.
 * - The claim is checked before the table is used. A stale claim or session generation is `claim_lost`,
 *   whatever the current state is.
 * - `clock` causes the expiry of a claim, which only states with a claim can have.
 *
 * When a task is `open`: the assignee may claim or decline it.
 * When a task is `claimed`: the holder works on it and completes, fails or releases it, or the claim expires.
 * When a task is `cancel_requested`: the holder is asked to stop. Its answer or the expiry of the claim ends it.
 * When a task is `cancelled`: its last holder may still confirm that the work has stopped.
 * When a task is `completed`, `failed` or `declined`: it accepts no event.
 *
 * Contract §8.
 */
import { type FinalTaskState, finalTaskStates, type TaskState } from '../../sdk/contract/agent/tasks.ts'
import { ApiError } from '../api-error.ts'

export type { TaskState }

export const taskEvents = [
  'claim',
  'renew',
  'progress',
  'complete',
  'fail',
  'release',
  'decline',
  'cancel',
  'stopped',
  'expire',
] as const
export type TaskEvent = (typeof taskEvents)[number]

/** The party that causes an event. */
export type Cause = 'assignee' | 'holder' | 'creator' | 'clock'

export const causes: Record<TaskEvent, Cause> = {
  claim: 'assignee',
  renew: 'holder',
  progress: 'holder',
  complete: 'holder',
  fail: 'holder',
  release: 'holder',
  decline: 'assignee',
  cancel: 'creator',
  stopped: 'holder',
  expire: 'clock',
}

export type Refusal = 'state_conflict' | 'claim_held' | 'claim_lost'

export type Cell =
  | { readonly next: TaskState }
  /** `open` while attempts remain, otherwise `failed`. */
  | { readonly next: 'open'; readonly exhausted: 'failed' }
  | { readonly refused: Refusal }
  /** Cannot happen: the state has no claim that could expire. */
  | { readonly never: true }

const to = (next: TaskState): Cell => ({ next })
const again: Cell = { next: 'open', exhausted: 'failed' }
const never: Cell = { never: true }
const conflict: Cell = { refused: 'state_conflict' }
const held: Cell = { refused: 'claim_held' }
const lost: Cell = { refused: 'claim_lost' }

const final: Record<TaskEvent, Cell> = {
  claim: conflict,
  renew: conflict,
  progress: conflict,
  complete: conflict,
  fail: conflict,
  release: conflict,
  decline: conflict,
  cancel: conflict,
  stopped: conflict,
  expire: never,
}

export const transitions: Record<TaskState, Record<TaskEvent, Cell>> = {
  open: {
    claim: to('claimed'),
    renew: lost,
    progress: lost,
    complete: lost,
    fail: lost,
    release: lost,
    decline: to('declined'),
    cancel: to('cancelled'),
    stopped: lost,
    expire: never,
  },
  claimed: {
    claim: held,
    renew: to('claimed'),
    progress: to('claimed'),
    complete: to('completed'),
    fail: to('failed'),
    release: again,
    decline: conflict,
    cancel: to('cancel_requested'),
    stopped: conflict,
    expire: again,
  },
  cancel_requested: {
    claim: conflict,
    renew: to('cancel_requested'),
    progress: to('cancel_requested'),
    complete: to('completed'),
    fail: to('failed'),
    release: to('cancelled'),
    decline: conflict,
    cancel: to('cancel_requested'),
    stopped: to('cancelled'),
    expire: to('cancelled'),
  },
  completed: final,
  failed: final,
  declined: final,
  cancelled: { ...final, stopped: to('cancelled') },
}

/** The fields of a task that decide about a claim. */
export interface ClaimState {
  readonly claim_generation: number
  readonly claim_session_generation: number | null
  readonly claim_end: 'finished' | 'released' | 'expired' | null
  readonly state: TaskState
  readonly attempts: number
  readonly max_attempts: number
}

/** The claim that the caller names, and the generation of the session that it calls from. */
export interface NamedClaim {
  readonly claim_generation: number
  readonly session_generation: number
  readonly calling_generation: number
}

/**
 * Requires that the named claim is the last one of the task, belongs to the calling session and was not lost.
 *
 * The stop of a cancelled task may be confirmed by the last claim from any session of its agent, because the
 * session that held it may have ended.
 *
 * @throws claim_lost
 */
export function requireClaim(task: ClaimState, event: TaskEvent, named: NamedClaim): void {
  const lateStop = event === 'stopped' && task.state === 'cancelled'
  const isLast = named.claim_generation === task.claim_generation
  if (lateStop && isLast) return
  const isOfSession =
    named.session_generation === task.claim_session_generation &&
    named.session_generation === named.calling_generation
  const hasEnded = task.claim_end === 'expired' || task.claim_end === 'released'
  if (!isLast || !isOfSession || hasEnded) throw claimLost()
}

const claimLost = () =>
  new ApiError('claim_lost', {
    message:
      'The claim has ended or belongs to another session. Stop the work; claim the task again if it is open.',
  })

/** Returns the next state. @throws state_conflict, claim_held, claim_lost */
export function decide(
  task: ClaimState,
  event: TaskEvent,
  heldBy: () => Readonly<Record<string, unknown>>,
): TaskState {
  const cell = transitions[task.state][event]
  if ('never' in cell) throw new Error(`a claim expired in the state ${task.state}, which has no claim`)
  if ('refused' in cell) throw refusalOf(cell.refused, task.state, event, heldBy)
  if ('exhausted' in cell && task.attempts >= task.max_attempts) return cell.exhausted
  return cell.next
}

function refusalOf(
  refused: Refusal,
  state: TaskState,
  event: TaskEvent,
  heldBy: () => Readonly<Record<string, unknown>>,
) {
  if (refused === 'claim_lost') return claimLost()
  if (refused === 'claim_held') {
    const details = heldBy()
    return new ApiError('claim_held', {
      message: `The task is claimed until ${details.expires_at}.`,
      details,
    })
  }
  return new ApiError('state_conflict', {
    message: `The task is ${state}, so ${event} is not possible.`,
    details: { state },
  })
}

export const isFinal = (state: TaskState): state is FinalTaskState => finalTaskStates.has(state)
