import { expect, test } from 'vitest'
import { unanswered } from '../../cli/commands/status.ts'
import { endedText } from '../../cli/owner/nodes.ts'
import { connectionWords, deliveryWords, relative } from '../../cli/terminal/words.ts'
import { type Connection, isAnswerTo, type Message } from '../../sdk/program.ts'
import { adaId, benId, message } from '../support/bridges.ts'

const now = new Date('2026-01-02T00:00:00.000Z')
const at = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString()

test.each([
  [0, 'just now'],
  [-0.4, 'just now'],
  [-1, '1 second ago'],
  [-59, '59 seconds ago'],
  [-60, '1 minute ago'],
  [-7199, '1 hour ago'],
  [-7200, '2 hours ago'],
  [-86_400, '1 day ago'],
  [90, 'in 1 minute'],
  [3 * 86_400, 'in 3 days'],
])('%d seconds ahead is %s', (seconds, words) => {
  expect(relative(at(seconds), now)).toBe(words)
})

const unseen: Connection = {
  connected: false,
  listening_now: false,
  last_contact_at: null,
  next_contact: { kind: 'unknown', expected_at: null, overdue: false },
  observed_at: at(0),
}
const scheduled = (seconds: number, overdue: boolean) =>
  ({ kind: 'scheduled', expected_at: at(seconds), overdue }) as const

test.each<[Partial<Connection>, string]>([
  [{}, 'never seen'],
  [{ last_contact_at: at(-7200) }, 'last contact 2 hours ago'],
  [{ connected: true, last_contact_at: at(-5) }, 'connected, last contact 5 seconds ago'],
  [{ connected: true, listening_now: true, last_contact_at: at(-1) }, 'listening now'],
  [
    {
      last_contact_at: at(-60),
      next_contact: { kind: 'after_current_work_step', expected_at: null, overdue: false },
    },
    'last contact 1 minute ago, next contact after current work step',
  ],
  [
    { last_contact_at: at(-60), next_contact: scheduled(120, false) },
    'last contact 1 minute ago, next contact in 2 minutes',
  ],
  [
    { last_contact_at: at(-60), next_contact: scheduled(-30, true) },
    'last contact 1 minute ago, overdue since 30 seconds ago',
  ],
])('%j is %s', (more, words) => {
  expect(connectionWords({ ...unseen, ...more }, now)).toBe(words)
})

const letter = (sequence: number, more: object = {}) => message(sequence, more) as unknown as Message

test('stored, offered and acknowledged are three states', () => {
  const stored = { stored_at: at(-120), first_offered_at: null, offers: 0, acknowledged_at: null }
  expect(deliveryWords(letter(1, { delivery: stored }), now)).toBe(
    'stored 2 minutes ago; not offered yet; not acknowledged',
  )
  const offered = { ...stored, first_offered_at: at(-60), offers: 3 }
  expect(deliveryWords(letter(1, { delivery: offered }), now)).toBe(
    'stored 2 minutes ago; offered 1 minute ago, 3 times; not acknowledged',
  )
  const done = { ...offered, offers: 1, acknowledged_at: at(-1) }
  expect(deliveryWords(letter(1, { delivery: done }), now)).toBe(
    'stored 2 minutes ago; offered 1 minute ago; acknowledged 1 second ago',
  )
})

const ada = { kind: 'agent', agent_id: adaId, name: 'ada' }
const ben = { kind: 'agent', agent_id: benId, name: 'ben' }

test('a question is open until the other side answers it', () => {
  const question = letter(1, { type: 'question', sender: ben })
  const answer = letter(2, { type: 'note', sender: ada, in_reply_to: question.id })
  const followUp = letter(3, { sender: ben, in_reply_to: question.id })
  expect(unanswered([question], isAnswerTo)).toEqual([question])
  expect(unanswered([question, followUp], isAnswerTo)).toEqual([question])
  expect(unanswered([question, followUp, answer], isAnswerTo)).toEqual([])
})

test('every message that expects a reply is open, and notes and service messages are not', () => {
  const note = letter(1)
  const urgent = letter(2, { expects_reply_by: at(60) })
  const service = letter(3, { sender: { kind: 'system', name: 'service' }, expects_reply_by: at(60) })
  const owner = letter(4, { type: 'question', sender: { kind: 'owner', name: 'olu' } })
  expect(unanswered([note, urgent, service, owner], isAnswerTo)).toEqual([urgent, owner])
})

test('a node that was stopped and one that is lost are told apart', () => {
  const node = { id: 'b-1', name: 'b', version: '0.1.0', seen_at: at(-7200) }
  expect(
    endedText(
      [
        { ...node, left: true },
        { ...node, id: 'c-1', name: 'c', left: false },
      ],
      now,
    ),
  ).toBe('b was stopped 2 hours ago\nc is lost: its last heartbeat was 2 hours ago')
})
