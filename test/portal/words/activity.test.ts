/** Lines of the activity tell what the details of a record tell, and no more. */
import { expect, test } from 'vitest'
import type { AuditRecord } from '../../../sdk/browser.ts'
import { actWords, kindWords } from '../../../server/portal/page/words/audit.ts'

const words = (kind: string, details: AuditRecord['details']): string =>
  actWords({ kind, details } as AuditRecord)

test.each([
  ['message.sent', { sequence: 41 }, 'sent message 41'],
  ['message.acknowledged', { message_ids: ['a', 'b'] }, 'acknowledged 2 messages'],
  ['project.state_changed', { from: 'active', to: 'paused' }, 'project paused'],
  ['project.state_changed', { from: 'paused', to: 'active' }, 'project resumed'],
  ['task.progressed', { percent: 40 }, 'task progressed, 40 %'],
])('a record of %s with %j says %j', (kind, details, line) => {
  expect(words(kind, details)).toBe(line)
})

test.each(['message.sent', 'message.acknowledged', 'project.state_changed', 'task.progressed'])(
  'a record of %s without its details has the words of its kind',
  (kind) => {
    expect(words(kind, {})).toBe(kindWords(kind))
  },
)

test('an enrolment is spelled as on the rest of the page', () => {
  expect(kindWords('enrollment.claimed')).toBe('enrolment claimed')
})
