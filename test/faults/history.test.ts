/** Tests of the history checker: a correct history passes, and each rule rejects a faulty one made for it. */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ClientLog, readLog } from './lab/client-log.ts'
import type { Operation, Rule, Run, StoredMessage } from './lab/history.ts'
import * as history from './lab/history.ts'
import { taskRules } from './lab/task-history.ts'

const conversation = 'c1'
let clock = 0

/** One operation after the other, each lasting one millisecond. */
function operation(client: string, op: Operation['op'], changes: Partial<Operation>): Operation {
  const invoked = clock++
  return {
    client,
    op,
    invoked,
    returned: clock++,
    outcome: 'ok',
    key: null,
    session: op === 'start' ? null : `session-${client}-1`,
    conversation: null,
    text: null,
    messageIds: [],
    after: 0,
    code: null,
    answer: '',
    ...changes,
  }
}

const start = (client: string, generation: number, changes: Partial<Operation> = {}) =>
  operation(client, 'start', {
    answer: JSON.stringify({ id: `session-${client}-${generation}`, generation }),
    ...changes,
  })

const send = (client: string, key: string, sequence: number, changes: Partial<Operation> = {}) =>
  operation(client, 'send', {
    key,
    text: key,
    conversation,
    answer: JSON.stringify({ message: { id: `m-${key}`, sequence } }),
    ...changes,
  })

const page = (keys: readonly (readonly [string, number])[]) =>
  JSON.stringify({ messages: keys.map(([key, sequence]) => ({ id: `m-${key}`, sequence })) })

const read = (
  client: string,
  keys: readonly (readonly [string, number])[],
  changes: Partial<Operation> = {},
) => operation(client, 'inbox', { answer: page(keys), ...changes })

const ack = (client: string, key: string, changes: Partial<Operation> = {}) =>
  operation(client, 'ack', { messageIds: [`m-${key}`], ...changes })

const unanswered = { outcome: 'info', returned: Number.POSITIVE_INFINITY, answer: '' } as const

const stored = (key: string, sequence: number, to: string, acknowledged = false): StoredMessage => ({
  id: `m-${key}`,
  sequence,
  body: key,
  recipient_agent_id: to,
  delivery: { acknowledged_at: acknowledged ? '2026-01-01T00:00:00.000Z' : null },
})

const record = (kind: string, subject_id: string, message_ids?: readonly string[]) => ({
  kind,
  subject_id,
  details: message_ids === undefined ? {} : { message_ids },
})

interface Draft {
  operations: Operation[]
  messages: StoredMessage[]
  audit: Run['audit'][number][]
}

/**
 * Ada sends two messages; the answer to the second is lost and requested again. Ben reads both and
 * acknowledges one.
 */
function right(): Draft {
  clock = 0
  return {
    operations: [
      start('ada', 1),
      start('ben', 1),
      send('ada', 'one', 1),
      send('ada', 'two', 2, { outcome: 'info', answer: '' }),
      send('ada', 'two', 2),
      send('ada', 'lost', 0, { outcome: 'info', answer: '' }),
      send('ada', 'wrong', 0, { outcome: 'fail', code: 'conversation_budget', answer: '' }),
      send('ada', 'one', 1),
      read('ben', [
        ['one', 1],
        ['two', 2],
      ]),
      operation('ben', 'history', {
        conversation,
        after: 0,
        answer: page([
          ['one', 1],
          ['two', 2],
        ]),
      }),
      ack('ben', 'one'),
      start('ada', 1),
    ],
    messages: [stored('one', 1, 'ben', true), stored('two', 2, 'ben')],
    audit: [
      record('session.started', 'session-ada-1'),
      record('session.started', 'session-ben-1'),
      record('message.sent', 'm-one'),
      record('message.sent', 'm-two'),
      record('message.acknowledged', 'm-one', ['m-one']),
    ],
  }
}

const runOf = ({ operations, messages, audit }: Draft): Run => ({
  operations,
  conversations: new Map([[conversation, messages]]),
  audit,
})

test('a correct history passes every rule', () => {
  expect(history.checkHistory(runOf(right()))).toEqual([])
})

interface Wrong {
  readonly what: string
  readonly rule: Rule
  spoil(draft: Draft): void
}

const wrongs: readonly Wrong[] = [
  {
    what: 'an answered message is missing',
    rule: history.sendsAreStoredOnce,
    spoil: ({ operations, audit }) => {
      operations.push(send('ada', 'three', 3))
      audit.push(record('message.sent', 'm-three'))
    },
  },
  {
    what: 'a message is stored twice',
    rule: history.sendsAreStoredOnce,
    spoil: ({ operations, messages, audit }) => {
      messages.push({ ...stored('two', 3, 'ben'), id: 'm-again' })
      audit.push(record('message.sent', 'm-again'))
      operations.push(read('ben', [['again', 3]]))
    },
  },
  {
    what: 'a refused message is stored',
    rule: history.sendsAreStoredOnce,
    spoil: ({ operations, messages, audit }) => {
      messages.push(stored('wrong', 3, 'ben'))
      audit.push(record('message.sent', 'm-wrong'))
      operations.push(read('ben', [['wrong', 3]]))
    },
  },
  {
    what: 'an unanswered message is stored twice',
    rule: history.sendsAreStoredOnce,
    spoil: ({ operations, messages, audit }) => {
      messages.push(stored('lost', 3, 'ben'), { ...stored('lost', 4, 'ben'), id: 'm-again' })
      audit.push(record('message.sent', 'm-lost'), record('message.sent', 'm-again'))
      operations.push(
        read('ben', [
          ['lost', 3],
          ['again', 4],
        ]),
      )
    },
  },
  {
    what: 'a reader was shown a message that is missing',
    rule: history.whatWasSeenIsStored,
    spoil: ({ operations }) => operations.push(read('ben', [['lost', 3]])),
  },
  {
    what: 'a sequence is left out',
    rule: history.sequencesHaveNoGap,
    spoil: ({ operations, messages, audit }) => {
      operations.push(send('ada', 'four', 4), read('ben', [['four', 4]]))
      messages.push(stored('four', 4, 'ben'))
      audit.push(record('message.sent', 'm-four'))
    },
  },
  {
    what: 'a later message has a smaller sequence',
    rule: history.sequencesFollowTime,
    spoil: ({ operations, messages, audit }) => {
      operations.push(send('ada', 'late', 4), send('ada', 'later', 3))
      operations.push(
        read('ben', [
          ['later', 3],
          ['late', 4],
        ]),
      )
      messages.push(stored('later', 3, 'ben'), stored('late', 4, 'ben'))
      audit.push(record('message.sent', 'm-late'), record('message.sent', 'm-later'))
    },
  },
  {
    what: 'a page of history leaves a message out',
    rule: history.pagesHaveNoGap,
    spoil: ({ operations }) =>
      operations.push(operation('ben', 'history', { conversation, after: 0, answer: page([['two', 2]]) })),
  },
  {
    what: 'one key is answered in two ways',
    rule: history.keysHaveOneAnswer,
    spoil: ({ operations }) => {
      const again = send('ada', 'one', 1)
      operations.push({ ...again, answer: `${again.answer} ` })
    },
  },
  {
    what: 'a key that was answered is refused later',
    rule: history.keysHaveOneAnswer,
    spoil: ({ operations }) => operations.push(send('ada', 'one', 1, { outcome: 'fail', code: 'not_found' })),
  },
  {
    what: 'an acknowledgement is lost',
    rule: history.acknowledgementsAreKept,
    spoil: ({ operations }) => operations.push(ack('ben', 'two')),
  },
  {
    what: 'a message is acknowledged without an acknowledgement',
    rule: history.acknowledgementsAreKept,
    spoil: ({ messages, audit }) => {
      messages[1] = stored('two', 2, 'ben', true)
      audit.push(record('message.acknowledged', 'm-two', ['m-two']))
    },
  },
  {
    what: 'an acknowledged message is offered again',
    rule: history.acknowledgedIsNotOffered,
    spoil: ({ operations }) => operations.push(read('ben', [['one', 1]])),
  },
  {
    what: 'a message is never offered',
    rule: history.everythingIsOffered,
    spoil: ({ operations, messages, audit }) => {
      operations.push(send('ada', 'three', 3))
      messages.push(stored('three', 3, 'ben'))
      audit.push(record('message.sent', 'm-three'))
    },
  },
  {
    what: 'a confirmed session is unknown',
    rule: history.startedSessionsAreKept,
    spoil: ({ operations }) => operations.push(read('ben', [], { outcome: 'fail', code: 'session_unknown' })),
  },
  {
    what: 'a session is fenced without a cause',
    rule: history.startedSessionsAreKept,
    spoil: ({ operations }) => operations.push(read('ben', [], { outcome: 'fail', code: 'session_fenced' })),
  },
  {
    what: 'a generation falls',
    rule: history.generationsRise,
    spoil: ({ operations, audit }) => {
      operations.push(start('ben', 3), start('ben', 2))
      audit.push(record('session.started', 'session-ben-3'), record('session.started', 'session-ben-2'))
    },
  },
  {
    what: 'two sessions share a generation',
    rule: history.generationsRise,
    spoil: ({ operations, audit }) => {
      operations.push(start('ben', 1, { answer: JSON.stringify({ id: 'ben-other', generation: 1 }) }))
      audit.push(record('session.started', 'ben-other'))
    },
  },
  {
    what: 'a closed session continues to read',
    rule: history.endedSessionsDoNothing,
    spoil: ({ operations }) => operations.push(operation('ben', 'close', {}), read('ben', [])),
  },
  {
    what: 'an answer is an internal error',
    rule: history.nothingIsInternal,
    spoil: ({ operations }) => operations.push(read('ben', [], { outcome: 'info', code: 'internal' })),
  },
  {
    what: 'a message is recorded twice in the audit',
    rule: history.mutationsAreAudited,
    spoil: ({ audit }) => audit.push(record('message.sent', 'm-one')),
  },
  {
    what: 'an acknowledgement is not recorded in the audit',
    rule: history.mutationsAreAudited,
    spoil: ({ audit }) => audit.pop(),
  },
  {
    what: 'a session is not recorded in the audit',
    rule: history.mutationsAreAudited,
    spoil: ({ audit }) => audit.shift(),
  },
]

test.each(wrongs)('$rule.name rejects a history in which $what', ({ rule, spoil }) => {
  const draft = right()
  spoil(draft)
  const objecting = history.checkHistory(runOf(draft)).map((sentence) => sentence.split(':')[0])
  expect([...new Set(objecting)]).toEqual([rule.name])
})

test('every rule has a faulty history', () => {
  const names = new Set(wrongs.map(({ rule }) => rule.name))
  // For the rules of tasks see task-history.test.ts.
  const here = history.rules.filter((rule) => !taskRules.includes(rule))
  expect(here.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
})

test('a repeated key may have taken effect at its first attempt', () => {
  const draft = right()
  draft.operations.push(
    send('ada', 'early', 0, { outcome: 'info', answer: '' }),
    send('ben', 'between', 4),
    send('ada', 'early', 3),
    read('ben', [['early', 3]]),
    read('ada', [['between', 4]]),
  )
  draft.messages.push(stored('early', 3, 'ben'), stored('between', 4, 'ada'))
  draft.audit.push(record('message.sent', 'm-early'), record('message.sent', 'm-between'))
  expect(history.checkHistory(runOf(draft))).toEqual([])
})

test('a message that was stored after the last session of its recipient need not be offered', () => {
  const draft = right()
  draft.messages.push({ ...stored('three', 3, 'ben'), id: 'session-ben-1 later', type: 'task' })
  expect(history.checkHistory(runOf(draft))).toEqual([])
  draft.operations.push(start('ben', 2))
  draft.audit.push(record('session.started', 'session-ben-2'))
  expect(history.checkHistory(runOf(draft))).toEqual([
    'everythingIsOffered: ben was never offered session-ben-1 later',
  ])
})

test('overlapping operations may have any order, and unanswered ones may be stored once or not at all', () => {
  const draft = right()
  draft.operations.push(
    send('ada', 'slow', 4, { invoked: 100, returned: 110 }),
    send('ben', 'fast', 3, { invoked: 105, returned: 106 }),
    send('ada', 'gone', 0, unanswered),
    read('ben', [['slow', 4]]),
    read('ada', [['fast', 3]]),
  )
  draft.messages.push(stored('fast', 3, 'ada'), stored('slow', 4, 'ben'))
  draft.audit.push(record('message.sent', 'm-fast'), record('message.sent', 'm-slow'))
  expect(history.checkHistory(runOf(draft))).toEqual([])
})

test('a log returns the recorded operations, and a call that never returned is open', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-log-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'ada.log')
  const log = new ClientLog(path)
  const { invoked: _, returned: __, outcome: ___, code, answer, ...invocation } = send('ada', 'one', 1)
  await log.record(invocation, async () => ({ outcome: 'ok', code, answer }))
  void log.record({ ...invocation, key: 'two' }, () => new Promise(() => {}))
  await expect.poll(() => readLog(path).length).toBe(2)
  appendFileSync(path, '{"n":2,"invoc')
  expect(readLog(path)).toMatchObject([
    { key: 'one', outcome: 'ok', answer },
    { key: 'two', outcome: 'info', returned: Number.POSITIVE_INFINITY },
  ])

  const next = new ClientLog(path)
  await next.record({ ...invocation, key: 'three' }, async () => ({ outcome: 'fail', code: 'x', answer: '' }))
  expect(readLog(path).map(({ key, outcome }) => `${key} ${outcome}`)).toEqual([
    'one ok',
    'two info',
    'three fail',
  ])
  next.close()
})
