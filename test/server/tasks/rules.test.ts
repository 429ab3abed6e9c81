/** The state table of tasks, cell by cell, and the fence that is checked before it. */
import { expect, test } from 'vitest'
import { ApiError } from '../../../server/api-error.ts'
import {
  type ClaimState,
  decide,
  isFinal,
  requireClaim,
  type TaskEvent,
  type TaskState,
  taskEvents,
  transitions,
} from '../../../server/tasks/rules.ts'

const conflict = 'state_conflict'

/**
 * Contract §8 in full: a map from state and event to the next state or the code. `again` is open, or failed
 * if the attempts are used up.
 */
const expected: Record<TaskState, Record<TaskEvent, string>> = {
  open: {
    claim: 'claimed',
    renew: 'claim_lost',
    progress: 'claim_lost',
    complete: 'claim_lost',
    fail: 'claim_lost',
    release: 'claim_lost',
    decline: 'declined',
    cancel: 'cancelled',
    stopped: 'claim_lost',
    expire: 'never',
  },
  claimed: {
    claim: 'claim_held',
    renew: 'claimed',
    progress: 'claimed',
    complete: 'completed',
    fail: 'failed',
    release: 'again',
    decline: conflict,
    cancel: 'cancel_requested',
    stopped: conflict,
    expire: 'again',
  },
  cancel_requested: {
    claim: conflict,
    renew: 'cancel_requested',
    progress: 'cancel_requested',
    complete: 'completed',
    fail: 'failed',
    release: 'cancelled',
    decline: conflict,
    cancel: 'cancel_requested',
    stopped: 'cancelled',
    expire: 'cancelled',
  },
  completed: final(),
  failed: final(),
  declined: final(),
  cancelled: { ...final(), stopped: 'cancelled' },
}

function final(): Record<TaskEvent, string> {
  return {
    claim: conflict,
    renew: conflict,
    progress: conflict,
    complete: conflict,
    fail: conflict,
    release: conflict,
    decline: conflict,
    cancel: conflict,
    stopped: conflict,
    expire: 'never',
  }
}

const standing = (state: TaskState, attempts: number): ClaimState => ({
  state,
  attempts,
  max_attempts: 2,
  claim_generation: 3,
  claim_session_generation: 5,
  claim_end: null,
})

const outcome = (task: ClaimState, event: TaskEvent): string => {
  try {
    return decide(task, event, () => ({}))
  } catch (error) {
    if (error instanceof ApiError) return error.code
    expect((error as Error).message).toMatch(/which has no claim/)
    return 'never'
  }
}

const states = Object.keys(expected) as TaskState[]

test('the table has exactly the states and events of the contract', () => {
  expect(Object.keys(transitions).sort()).toEqual([...states].sort())
  for (const state of states) expect(Object.keys(transitions[state]).sort()).toEqual([...taskEvents].sort())
})

test.each(states.flatMap((state) => taskEvents.map((event) => ({ state, event }))))(
  'the event $event in the state $state has the result of the contract',
  ({ state, event }) => {
    const answer = expected[state][event]
    expect(outcome(standing(state, 1), event)).toBe(answer === 'again' ? 'open' : answer)
    expect(outcome(standing(state, 2), event)).toBe(answer === 'again' ? 'failed' : answer)
  },
)

test('a refused event names the state, and a lost claim names the holder', () => {
  const caught = (state: TaskState) => {
    try {
      decide(standing(state, 1), 'claim', () => ({ holder: 'ben', expires_at: 'soon' }))
    } catch (error) {
      return (error as ApiError).details
    }
    return 'nothing was refused'
  }
  expect(caught('completed')).toEqual({ state: 'completed' })
  expect(caught('claimed')).toEqual({ holder: 'ben', expires_at: 'soon' })
})

test('the states without a transition to another state are final', () => {
  const leavesNowhere = (state: TaskState) =>
    Object.values(transitions[state]).every((cell) => !('next' in cell) || cell.next === state)
  expect(states.filter(isFinal)).toEqual(['completed', 'failed', 'declined', 'cancelled'])
  expect(states.filter(leavesNowhere)).toEqual(states.filter(isFinal))
})

const named = { claim_generation: 3, session_generation: 5, calling_generation: 5 }

test('the fence accepts only the latest claim, not lost, from the session that sends the request', () => {
  const fenced = (task: Partial<ClaimState>, claim: Partial<typeof named>, event: TaskEvent = 'complete') => {
    try {
      requireClaim({ ...standing('claimed', 1), ...task }, event, { ...named, ...claim })
      return 'passes'
    } catch (error) {
      return (error as ApiError).code
    }
  }
  expect(fenced({}, {})).toBe('passes')
  expect(fenced({}, { claim_generation: 2 })).toBe('claim_lost')
  expect(fenced({}, { claim_generation: 4 })).toBe('claim_lost')
  expect(fenced({}, { session_generation: 4 })).toBe('claim_lost')
  expect(fenced({}, { calling_generation: 6 })).toBe('claim_lost')
  expect(fenced({}, { session_generation: 6, calling_generation: 6 })).toBe('claim_lost')
  expect(fenced({ claim_end: 'expired', state: 'failed' }, {})).toBe('claim_lost')
  expect(fenced({ claim_end: 'released', state: 'open' }, {})).toBe('claim_lost')
  expect(fenced({ claim_end: 'finished', state: 'completed' }, {})).toBe('passes')
  // A late confirmation that the work has stopped may come from a later session.
  const over = { claim_end: 'expired', state: 'cancelled' } as const
  expect(fenced(over, { calling_generation: 6 }, 'stopped')).toBe('passes')
  expect(fenced(over, { claim_generation: 2 }, 'stopped')).toBe('claim_lost')
  expect(fenced(over, {}, 'complete')).toBe('claim_lost')
})
