/** The words of presence on the owner's page, for each shape of a connection. */
import { describe, expect, test } from 'vitest'
import type { Connection } from '../../../sdk/browser.ts'
import { presence } from '../../../server/portal/page/words/connection.ts'

const nowMs = Date.parse('2026-01-01T12:00:00.000Z')
const at = (seconds: number): string => new Date(nowMs + seconds * 1000).toISOString()

type Next = Connection['next_contact']

const next = (kind: Next['kind'], seconds: number | null = null, overdue = false): Next => ({
  kind,
  expected_at: seconds === null ? null : at(seconds),
  overdue,
})

const connection = (fields: Partial<Connection>): Connection => ({
  connected: false,
  listening_now: false,
  last_contact_at: null,
  next_contact: next('unknown'),
  observed_at: at(0),
  ...fields,
})

const shapes: readonly (readonly [what: string, fields: Partial<Connection>, words: string])[] = [
  ['was never there', {}, 'away: Not connected | no no | never | unknown'],
  [
    'listens',
    { connected: true, listening_now: true, last_contact_at: at(0), next_contact: next('listening') },
    'listening: Listening now | yes yes | now | Listening now',
  ],
  [
    'has made a request',
    { connected: true, last_contact_at: at(-20) },
    'connected: Connected | yes no | 20 s ago | unknown',
  ],
  [
    'works',
    { connected: true, last_contact_at: at(-20), next_contact: next('after_current_work_step') },
    'step: After current work step | yes no | 20 s ago | After current work step',
  ],
  [
    'works for long',
    { last_contact_at: at(-7200), next_contact: next('after_current_work_step') },
    'step: After current work step | no no | 2 h ago | After current work step',
  ],
  [
    'comes back soon',
    { last_contact_at: at(-80), next_contact: next('scheduled', 40) },
    'away: Not connected | no no | 1 min ago | in 40 s',
  ],
  [
    'is due',
    { last_contact_at: at(-80), next_contact: next('scheduled', -5) },
    'away: Not connected | no no | 1 min ago | due now',
  ],
  [
    'is overdue',
    { last_contact_at: at(-960), next_contact: next('scheduled', -360, true) },
    'overdue: Overdue, by 6 min | no no | 16 min ago | Overdue, by 6 min',
  ],
  [
    'is overdue without a time',
    { last_contact_at: at(-960), next_contact: next('after_current_work_step', null, true) },
    'overdue: Overdue | no no | 16 min ago | Overdue',
  ],
]

const words = (fields: Partial<Connection>, isStale: boolean): string => {
  const { mark, summary, connected, listening, lastContact, nextContact } = presence(
    connection(fields),
    nowMs,
    isStale,
  )
  return `${mark}: ${summary} | ${connected} ${listening} | ${lastContact} | ${nextContact}`
}

describe.each(shapes)('an agent that %s', (_what, fields, expected) => {
  test('has its words', () => expect(words(fields, false)).toBe(expected))

  test('is Unavailable in every word if the data is old', () =>
    expect(words(fields, true)).toBe(
      'unavailable: Unavailable | Unavailable Unavailable | Unavailable | Unavailable',
    ))
})

test('an agent that works has no countdown for 70 seconds', () => {
  for (let second = 0; second < 70; second += 1) {
    const fields = connection({ next_contact: next('after_current_work_step', 30) })
    expect(presence(fields, nowMs + second * 1000, false).nextContact).toBe('After current work step')
  }
})
