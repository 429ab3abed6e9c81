/** The rules of tasks are checked: a right history passes, and each rule objects to a wrong one made for it. */
import { expect, test } from 'vitest'
import { checkHistory, type Operation, type Rule, type Run, type StoredMessage } from './history.ts'
import type { StoredTask, TaskOp } from './task-history.ts'
import * as taskHistory from './task-history.ts'

let clock = 0

/** One mutation of the task t1, answered, each of one millisecond. */
function did(op: TaskOp, key: string, generation: number, changes: Partial<Operation> = {}): Operation {
  const invoked = clock++
  const isHolder = op !== 'task.create' && op !== 'task.claim'
  return {
    client: op === 'task.create' ? 'ada' : 'ben',
    op,
    invoked,
    returned: clock++,
    outcome: 'ok',
    key,
    session: null,
    conversation: null,
    text: null,
    messageIds: [],
    after: 0,
    ...(isHolder && { generation }),
    code: null,
    answer: JSON.stringify({ id: 't1', claim: op === 'task.claim' ? { generation } : null }),
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

const record = (kind: string) => ({ kind, subject_id: 't1', details: {} })

interface Draft {
  operations: Operation[]
  messages: StoredMessage[]
  audit: Run['audit'][number][]
  tasks: StoredTask[]
}

/** Ada gives a task; Ben claims it, gives it back, claims it again, and completes it in the second try. */
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
      // The message was offered, so the rules of messages have nothing to say.
      did('task.claim', 'k-read', 0, {
        op: 'inbox',
        key: null,
        answer: JSON.stringify({ messages: [{ id: 'm-t1', sequence: 1 }] }),
      }),
    ],
    messages: [told('t1')],
    audit: ['created', 'claimed', 'released', 'claimed', 'completed'].map((verb) => record(`task.${verb}`)),
    tasks: [
      {
        id: 't1',
        title: 'k-create',
        state: 'completed',
        conversation_id: 'c1',
        generation: 2,
        result: 'k-done',
      },
    ],
  }
}

const runOf = ({ operations, messages, audit, tasks }: Draft): Run => ({
  operations,
  conversations: new Map([['c1', messages]]),
  audit,
  tasks,
})

test('a right history passes every rule', () => {
  expect(checkHistory(runOf(right()))).toEqual([])
})

const wrongs: readonly { readonly what: string; readonly rule: Rule; spoil(draft: Draft): void }[] = [
  {
    what: 'two clients hold one claim',
    rule: taskHistory.claimsHaveOneHolder,
    spoil: ({ operations, audit }) => {
      const [, , , second] = operations
      if (second) operations.push({ ...second, key: 'k-other' })
      audit.push(record('task.claimed'))
    },
  },
  {
    what: 'a generation falls',
    rule: taskHistory.claimGenerationsRise,
    spoil: ({ operations, audit, tasks }) => {
      operations.splice(4, 2)
      operations.push(did('task.claim', 'k-3', 0))
      audit.splice(4, 1, record('task.claimed'))
      tasks.splice(0, 1, {
        id: 't1',
        title: 'k-create',
        state: 'claimed',
        conversation_id: 'c1',
        generation: 2,
        result: null,
      })
    },
  },
  {
    what: 'a claim that was lost gives back',
    rule: taskHistory.lostClaimsDoNothing,
    spoil: ({ operations, audit }) => {
      operations.push(did('task.release', 'k-stale', 1))
      audit.push(record('task.released'))
    },
  },
  {
    what: 'a task ends twice',
    rule: taskHistory.outcomesAreSetOnce,
    spoil: ({ operations, audit }) => {
      operations.push(did('task.fail', 'k-again', 2))
      audit.push(record('task.failed'))
    },
  },
  {
    what: 'a result that was answered is another one afterwards',
    rule: taskHistory.outcomesAreSetOnce,
    spoil: ({ tasks }) => {
      const [task] = tasks
      if (task) tasks[0] = { ...task, result: 'k-other' }
    },
  },
  {
    what: 'an answered task is missing',
    rule: taskHistory.tasksAreStoredOnce,
    spoil: ({ operations, audit }) => {
      const answer = JSON.stringify({ id: 't2', claim: null })
      operations.push(did('task.create', 'k-lost', 0, { answer }))
      audit.push({ ...record('task.created'), subject_id: 't2' })
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
      tasks.push({
        id: 't2',
        title: 'k-no',
        state: 'open',
        conversation_id: 'c1',
        generation: 0,
        result: null,
      })
      messages.push({ ...told('t2'), sequence: 2 })
    },
  },
  {
    what: 'a task is there without its message',
    rule: taskHistory.tasksAndMessagesAreThereTogether,
    spoil: ({ messages, operations }) => {
      messages.pop()
      operations.pop()
    },
  },
  {
    what: 'a message tells of a task that is not there',
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
    rule: taskHistory.taskChangesAreAudited,
    spoil: ({ audit }) => {
      audit.pop()
    },
  },
]

test.each(wrongs)('$rule.name objects when $what', ({ rule, spoil }) => {
  const draft = right()
  spoil(draft)
  const objecting = checkHistory(runOf(draft)).map((sentence) => sentence.split(':')[0])
  expect([...new Set(objecting)]).toEqual([rule.name])
})

test('every rule has a wrong history', () => {
  const names = new Set(wrongs.map(({ rule }) => rule.name))
  expect(taskHistory.taskRules.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
})
