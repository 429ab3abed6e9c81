/**
 * What may happen to a task: one total table, and who may do it.
 *
 * - Every state and every event has a cell: the next state, or the refusal. A pair that was forgotten does not compile.
 * - The claim is fenced before the table is asked: a stale claim or session generation is `claim_lost`, whatever state
 *   the task is in by now.
 * - `clock` is the expiry of a claim. Only a state with a claim can meet it.
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

/** Who causes an event. */
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
  /** Open again while attempts are left, else failed. */
  | { readonly next: 'open'; readonly exhausted: 'failed' }
  | { readonly refused: Refusal }
  /** The state holds no claim, so none can expire in it. */
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

/** How the claim stands that the caller names. */
export interface ClaimStanding {
  readonly claim_generation: number
  readonly claim_session_generation: number | null
  readonly claim_end: 'finished' | 'released' | 'expired' | null
  readonly state: TaskState
  readonly attempts: number
  readonly max_attempts: number
}

/** The claim as its holder names it, and the generation of the session that it speaks in. */
export interface NamedClaim {
  readonly claim_generation: number
  readonly session_generation: number
  readonly spoken_in: number
}

/**
 * The claim that is named is the task's last one, of the session that speaks, and was not lost.
 *
 * That the work of a cancelled task has stopped may be said by the last claim from any session of its agent: the one
 * that held it may be gone.
 *
 * @throws claim_lost
 */
export function requireClaim(task: ClaimStanding, event: TaskEvent, named: NamedClaim): void {
  const lateStop = event === 'stopped' && task.state === 'cancelled'
  const isLast = named.claim_generation === task.claim_generation
  if (lateStop && isLast) return
  const isOfSession =
    named.session_generation === task.claim_session_generation && named.session_generation === named.spoken_in
  const isOver = task.claim_end === 'expired' || task.claim_end === 'released'
  if (!isLast || !isOfSession || isOver) throw claimLost()
}

const claimLost = () =>
  new ApiError('claim_lost', {
    message: 'The claim is over, or of another session. Stop the work; claim again if the task is open.',
  })

/** The next state. @throws state_conflict, claim_held, claim_lost */
export function decide(
  task: ClaimStanding,
  event: TaskEvent,
  heldBy: () => Readonly<Record<string, unknown>>,
): TaskState {
  const cell = transitions[task.state][event]
  if ('never' in cell) throw new Error(`a claim expired in the state ${task.state}, which holds none`)
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
    message: `The task is ${state}; ${event} is not possible any more or not yet.`,
    details: { state },
  })
}

export const isFinal = (state: TaskState): state is FinalTaskState => finalTaskStates.has(state)
