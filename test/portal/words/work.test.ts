/** The words of tasks and transfers on the owner's page. */
import { describe, expect, test } from 'vitest'
import type { Task, TaskEntry, TransferSummary } from '../../../sdk/browser.ts'
import {
  claimWords,
  dueWords,
  lostWords,
  runsOf,
  stopWords,
} from '../../../server/portal/page/words/tasks.ts'
import { receiptWords } from '../../../server/portal/page/words/transfers.ts'

const nowMs = Date.parse('2026-01-01T12:00:00.000Z')
const at = (seconds: number): string => new Date(nowMs + seconds * 1000).toISOString()

const plain = { state: 'open', attempts: 0, max_attempts: 3, claim: null, cancellation: null } as const
const task = (fields: object): Task =>
  ({ ...plain, due_at: null, outcome: null, ...fields }) as unknown as Task
const claim = (seconds: number) => ({ state: 'claimed', attempts: 1, claim: { expires_at: at(seconds) } })
const entry = (event: string, claim_generation = 1): TaskEntry =>
  ({ id: event, at: at(-60), event, claim_generation }) as unknown as TaskEntry

describe('a claim', () => {
  test.each([
    ['that lasts', claim(180), false, 'claim ends in 3 min'],
    ['whose time is over', claim(-1), false, 'claim lost'],
    ['of old data', claim(180), true, 'claim: Unavailable'],
    ['of old data whose time is over', claim(-1), true, 'claim: Unavailable'],
    ['of a former attempt', { attempts: 1 }, false, 'claim lost or given back'],
    ['that never was', {}, false, undefined],
    ['of an ended task', { state: 'completed', attempts: 1 }, false, undefined],
  ] as const)('%s', (_name, fields, isStale, words) => {
    expect(claimWords(task(fields), nowMs, isStale)).toBe(words)
  })

  test.each([
    ['lost', 'expired', { attempts: 1 }, /^Claim lost: ben did not renew claim 1 in time, .* open again\.$/],
    ['given back', 'released', { attempts: 1 }, /^ben gave claim 1 back, .* The task is open again\.$/],
    [
      'lost for good',
      'expired',
      { state: 'failed', attempts: 3, outcome: { kind: 'attempts_exhausted' } },
      /^Claim lost: .* No attempt is left\.$/,
    ],
  ] as const)('that is %s', (_name, event, fields, words) => {
    expect(lostWords(task(fields), [entry('claimed'), entry(event)], 'ben')).toMatch(words)
  })

  test('of a later attempt hides a lost one', () => {
    expect(lostWords(task({ ...claim(60), attempts: 2 }), [entry('expired')], 'ben')).toBeUndefined()
    expect(lostWords(task({ state: 'completed', attempts: 2 }), [entry('expired')], 'ben')).toBeUndefined()
  })
})

describe('a cancellation', () => {
  const asked = { cancellation: { stop_confirmed_at: null } }
  test.each([
    [
      'of a task that is held',
      { ...asked, state: 'cancel_requested', attempts: 1 },
      /Not confirmed yet\.$/,
      true,
    ],
    [
      'whose claim ended',
      { ...asked, state: 'cancelled', attempts: 1 },
      /^Stop not confirmed: ben may/,
      true,
    ],
    ['of a task that nobody held', { ...asked, state: 'cancelled' }, /^No agent had claimed it\.$/, false],
    ['after which ben went on', { ...asked, state: 'completed', attempts: 1 }, /^ben ended the task/, false],
    [
      'that is confirmed',
      { cancellation: { stop_confirmed_at: at(0) }, state: 'cancelled', attempts: 1 },
      /^ben confirmed the stop, /,
      false,
    ],
  ] as const)('%s', (_name, fields, words, isOpen) => {
    expect(stopWords(task(fields), 'ben')).toEqual({ words: expect.stringMatching(words), isOpen })
  })

  test('that nobody asked for has no words', () => {
    expect(stopWords(task({}), 'ben')).toBeUndefined()
  })
})

test('a due time counts down, then up, and ends with its task', () => {
  expect(dueWords(task({ due_at: at(7200) }), nowMs)).toBe('due in 2 h')
  expect(dueWords(task({ due_at: at(-120) }), nowMs)).toBe('overdue by 2 min')
  expect(dueWords(task({ due_at: at(-120), state: 'completed' }), nowMs)).toBeUndefined()
})

test('renewals of one claim share a line of the timeline', () => {
  const entries = [entry('claimed'), entry('renewed'), entry('renewed'), entry('renewed', 2)]
  expect(runsOf(entries).map(({ count }) => count)).toEqual([1, 2, 1])
})

describe('a receipt', () => {
  const offered = { size: 3, sha256: 'aa' }
  test.each([
    ['that is missing', null, 'open', /^No receipt: ben has not confirmed/],
    ['that is equal to the offer', offered, 'completed', /are equal to the offer\.$/],
    ['of another size', { ...offered, size: 4 }, 'alert', /^The receipt differs/],
    ['of another hash', { ...offered, sha256: 'ab' }, 'alert', /^The receipt differs/],
  ] as const)('%s', (_name, receipt, mark, words) => {
    const transfer = { ...offered, receipt } as unknown as TransferSummary
    expect(receiptWords(transfer, 'ben')).toEqual({ mark, words: expect.stringMatching(words) })
  })
})
