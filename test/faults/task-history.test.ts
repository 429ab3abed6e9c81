/** Tests of the rules of tasks: a correct history passes, and each rule rejects a faulty one made for it. */
import { expect, test } from 'vitest'
import {
  type AuditRecord,
  checkHistory,
  type Operation,
  type Rule,
  type Run,
  type StoredMessage,
} from './lab/history.ts'
import type { StoredTask, TaskOp } from './lab/task-effects.ts'
import * as taskHistory from './lab/task-history.ts'
import * as taskLives from './lab/task-lives.ts'

let clock = 0

/** The state after each operation in the history below. */
const after: Record<TaskOp, string> = {
  'task.create': 'open',
  'task.claim': 'claimed',
  'task.renew': 'claimed',
  'task.complete': 'completed',
  'task.fail': 'failed',
  'task.release': 'open',
  'task.stopped': 'cancelled',
  'task.cancel': 'cancel_requested',
}

/** One answered mutation of the task t1, lasting one millisecond. */
function did(op: TaskOp, key: string, generation: number, changes: Partial<Operation> = {}): Operation {
  const invoked = clock++
  const isHolder = !['task.create', 'task.claim', 'task.cancel'].includes(op)
  const claim = op === 'task.claim' ? { generation, session_id: 's1' } : null
  return {
    client: op === 'task.create' || op === 'task.cancel' ? 'ada' : 'ben',
    op,
    invoked,
    returned: clock++,
    outcome: 'ok',
    key,
    session: isHolder ? 's1' : null,
    conversation: null,
    text: null,
    messageIds: [],
    after: 0,
    task: 't1',
    ...(isHolder && { generation }),
    code: null,
    answer: JSON.stringify({ id: 't1', state: after[op], claim }),
    ...changes,
  }
}

const told = (task_id: string): StoredMessage => ({
  id: `m-${task_id}`,
  sequence: 1,
  body: 'new task from ada: …',
  recipient_agent_id: 'ben',
  type: 'task',
  task_id,
  delivery: { acknowledged_at: null },
})

const record = (kind: string, state: string, claim_generation: number, second = 0): AuditRecord => ({
  kind: `task.${kind}`,
  subject_id: 't1',
  at: new Date(second * 1000).toISOString(),
  details: { state, claim_generation },
})

const stored: StoredTask = {
  id: 't1',
  title: 'k-create',
  state: 'completed',
  conversation_id: 'c1',
  generation: 2,
  result: 'k-done',
  claim_ttl_seconds: 30,
  cancel_requested_at: null,
  stop_confirmed_at: null,
}

interface Draft {
  operations: Operation[]
  messages: StoredMessage[]
  audit: Run['audit'][number][]
  tasks: StoredTask[]
}

/**
 * Ada creates a task; Ben claims it, releases it, claims it again, and completes it at the second attempt.
 */
function right(): Draft {
  clock = 0
  return {
    operations: [
      did('task.create', 'k-create', 0),
      did('task.claim', 'k-1', 1),
      did('task.release', 'k-back', 1),
      did('task.claim', 'k-2', 2),
      did('task.complete', 'k-done', 2, { outcome: 'info', answer: '', returned: Number.POSITIVE_INFINITY }),
      did('task.complete', 'k-done', 2),
      did('task.fail', 'k-late', 1, { outcome: 'fail', code: 'claim_lost', answer: '' }),
      // The message was offered, so the rules of messages find no fault.
      did('task.claim', 'k-read', 0, {
        op: 'inbox',
        key: null,
        answer: JSON.stringify({ messages: [{ id: 'm-t1', sequence: 1 }] }),
      }),
    ],
    messages: [told('t1')],
    audit: [
      record('created', 'open', 0),
      record('claimed', 'claimed', 1),
      record('released', 'open', 1),
      record('claimed', 'claimed', 2),
      record('completed', 'completed', 2),
    ],
    tasks: [stored],
  }
}

/** Ben's claim expires. He claims again, is asked to stop, and confirms that he has stopped. */
function cancelled(): Draft {
  const { operations, messages } = right()
  const [create, claim] = operations as [Operation, Operation]
  const read = operations.at(-1) as Operation
  return {
    operations: [
      create,
      claim,
      did('task.claim', 'k-2', 2),
      did('task.renew', 'k-renew', 2),
      did('task.cancel', 'k-cancel', 2),
      did('task.stopped', 'k-stop', 2),
      read,
    ],
    messages,
    audit: [
      record('created', 'open', 0),
      record('claimed', 'claimed', 1, 0),
      record('expired', 'open', 1, 30),
      record('claimed', 'claimed', 2, 40),
      record('renewed', 'claimed', 2, 50),
      record('cancel_requested', 'cancel_requested', 2, 55),
      record('stopped', 'cancelled', 2, 60),
    ],
    tasks: [
      { ...stored, state: 'cancelled', result: null, cancel_requested_at: 'then', stop_confirmed_at: 'now' },
    ],
  }
}

const runOf = ({ operations, messages, audit, tasks }: Draft): Run => ({
  operations,
  conversations: new Map([['c1', messages]]),
  audit,
  tasks,
})

test('correct histories pass every rule', () => {
  expect(checkHistory(runOf(right()))).toEqual([])
  expect(checkHistory(runOf(cancelled()))).toEqual([])
})

interface Wrong {
  readonly what: string
  readonly rule: Rule
  /** Other rules that detect the same fault. */
  readonly also?: readonly Rule[]
  /** The correct history from which it is made. */
  readonly of?: () => Draft
  spoil(draft: Draft): void
}

const taskIs = ({ tasks }: Draft, changes: Partial<StoredTask>) => {
  tasks.splice(0, 1, { ...stored, ...tasks[0], ...changes })
}

/** Replaces the operation of a key; without changes, removes it. */
const spoilKey = ({ operations }: Draft, key: string, changes?: Partial<Operation>) => {
  operations.splice(
    0,
    operations.length,
    ...operations.flatMap((each) => {
      if (each.key !== key) return [each]
      return changes === undefined ? [] : [{ ...each, ...changes }]
    }),
  )
}

const { taskChangesAreAudited, lostClaimsDoNothing } = taskHistory

const wrongs: readonly Wrong[] = [
  {
    what: 'two clients hold one claim',
    rule: taskHistory.claimsHaveOneHolder,
    also: [taskChangesAreAudited],
    spoil: ({ operations }) => {
      const [, , , second] = operations
      if (second) operations.push({ ...second, key: 'k-other' })
    },
  },
  {
    what: 'a generation falls',
    rule: taskHistory.claimGenerationsRise,
    spoil: (draft) => {
      spoilKey(draft, 'k-done')
      draft.operations.push(did('task.release', 'k-back-2', 2), did('task.claim', 'k-3', 0))
      draft.audit.splice(4, 1, record('released', 'open', 2), record('claimed', 'claimed', 3))
      taskIs(draft, { state: 'claimed', generation: 3, result: null })
    },
  },
  {
    what: 'a lost claim releases the task',
    rule: lostClaimsDoNothing,
    also: [taskChangesAreAudited],
    spoil: ({ operations }) => {
      operations.push(did('task.release', 'k-stale', 1))
    },
  },
  {
    what: 'a holder acts in another session',
    rule: taskHistory.claimsStayInTheirSession,
    spoil: (draft) => spoilKey(draft, 'k-back', { session: 's2' }),
  },
  {
    what: 'a task ends twice',
    rule: taskHistory.outcomesAreSetOnce,
    also: [taskChangesAreAudited],
    spoil: ({ operations }) => {
      operations.push(did('task.fail', 'k-again', 2))
    },
  },
  {
    what: 'an answered result differs afterwards',
    rule: taskHistory.outcomesAreSetOnce,
    spoil: (draft) => taskIs(draft, { result: 'k-other' }),
  },
  {
    what: 'an answered task is missing',
    rule: taskHistory.tasksAreStoredOnce,
    spoil: ({ operations, audit }) => {
      const answer = JSON.stringify({ id: 't2', state: 'open', claim: null })
      operations.push(did('task.create', 'k-lost', 0, { answer }))
      audit.push({ ...record('created', 'open', 0), subject_id: 't2' })
    },
  },
  {
    what: 'a refused task is stored',
    rule: taskHistory.tasksAreStoredOnce,
    spoil: ({ operations, tasks, messages }) => {
      operations.push(
        did('task.create', 'k-no', 0, { outcome: 'fail', code: 'project_paused', answer: '' }),
        did('task.claim', 'k-read', 0, {
          op: 'inbox',
          key: null,
          answer: JSON.stringify({ messages: [{ id: 'm-t2', sequence: 2 }] }),
        }),
      )
      tasks.push({ ...stored, id: 't2', title: 'k-no', state: 'open', generation: 0, result: null })
      messages.push({ ...told('t2'), sequence: 2 })
    },
  },
  {
    what: 'a task exists without its message',
    rule: taskHistory.tasksAndMessagesAreThereTogether,
    spoil: ({ messages, operations }) => {
      messages.pop()
      operations.pop()
    },
  },
  {
    what: 'a message names a missing task',
    rule: taskHistory.tasksAndMessagesAreThereTogether,
    spoil: ({ messages, operations }) => {
      messages.push({ ...told('t2'), sequence: 2 })
      operations.push(
        did('task.claim', 'k-read', 0, {
          op: 'inbox',
          key: null,
          answer: JSON.stringify({ messages: [{ id: 'm-t2', sequence: 2 }] }),
        }),
      )
    },
  },
  {
    what: 'a change is not in the audit',
    rule: taskChangesAreAudited,
    of: cancelled,
    spoil: ({ audit }) => {
      audit.splice(4, 1)
    },
  },
  {
    what: 'a claim is granted while another is valid',
    rule: taskLives.livesFollowTheTable,
    of: cancelled,
    spoil: ({ audit }) => {
      audit.splice(2, 1)
    },
  },
  {
    what: 'a record names a claim that did not exist',
    rule: taskLives.livesFollowTheTable,
    spoil: ({ audit }) => {
      audit.splice(4, 1, record('completed', 'completed', 3))
    },
  },
  {
    what: 'the state of a task differs from its last record',
    rule: taskLives.livesFollowTheTable,
    also: [taskChangesAreAudited],
    of: cancelled,
    spoil: ({ audit }) => {
      audit.push(record('stopped', 'failed', 2))
    },
  },
  {
    what: 'a claim expires ten seconds early',
    rule: taskLives.claimsHaveTheirLease,
    of: cancelled,
    spoil: ({ audit }) => {
      audit.splice(2, 1, record('expired', 'open', 1, 20))
    },
  },
  {
    what: 'an answered cancellation is missing',
    rule: taskLives.cancellationsAreKept,
    of: cancelled,
    spoil: (draft) => taskIs(draft, { cancel_requested_at: null }),
  },
  {
    what: 'a task with a requested cancellation is claimed',
    rule: taskLives.cancellationsAreKept,
    also: [taskChangesAreAudited],
    of: cancelled,
    spoil: ({ operations }) => {
      operations.push(did('task.claim', 'k-3', 3))
    },
  },
  {
    what: 'an answered confirmation is missing',
    rule: taskLives.stopsAreKept,
    of: cancelled,
    spoil: (draft) => taskIs(draft, { stop_confirmed_at: null }),
  },
  {
    what: 'a lost claim confirms a stop',
    rule: taskLives.stopsAreKept,
    also: [lostClaimsDoNothing],
    of: cancelled,
    spoil: (draft) => spoilKey(draft, 'k-stop', { generation: 1 }),
  },
  {
    what: 'a cancellation was not requested',
    rule: taskLives.nobodyIsStoppedUnasked,
    of: cancelled,
    spoil: (draft) => spoilKey(draft, 'k-cancel'),
  },
  {
    what: 'a confirmed stop was not requested',
    rule: taskLives.nobodyIsStoppedUnasked,
    of: cancelled,
    spoil: (draft) => spoilKey(draft, 'k-stop'),
  },
]

test.each(wrongs)('$rule.name rejects a history in which $what', ({ rule, also = [], of = right, spoil }) => {
  const draft = of()
  spoil(draft)
  const objecting = checkHistory(runOf(draft)).map((sentence) => sentence.split(':')[0])
  expect(new Set(objecting)).toEqual(new Set([rule, ...also].map(({ name }) => name)))
})

test('every rule has a faulty history', () => {
  const names = new Set(wrongs.map(({ rule }) => rule.name))
  expect(taskHistory.taskRules.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
})
