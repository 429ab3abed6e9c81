/**
 * Ages and connections in words. Each word has the meaning that the contract gives it.
 *
 * Spec §1; contract §6: nothing here says that a model has read anything.
 */
import type { Connection, Message } from '../sdk/index.ts'

const steps = [
  { seconds: 86_400, word: 'day' },
  { seconds: 3600, word: 'hour' },
  { seconds: 60, word: 'minute' },
  { seconds: 1, word: 'second' },
] as const

/** `3 minutes ago`, `in 2 hours`, `just now`. */
export function relative(instant: string, now: Date): string {
  const difference = Math.round((now.getTime() - Date.parse(instant)) / 1000)
  const distance = Math.abs(difference)
  const step = steps.find(({ seconds }) => distance >= seconds)
  if (step === undefined || Number.isNaN(difference)) return 'just now'
  const count = Math.floor(distance / step.seconds)
  const amount = `${count} ${step.word}${count === 1 ? '' : 's'}`
  return difference > 0 ? `${amount} ago` : `in ${amount}`
}

/** What the node observed of somebody. */
export function connectionWords(connection: Connection, now: Date): string {
  const { connected, listening_now: listening, last_contact_at: lastContact, next_contact: next } = connection
  if (listening) return 'listening now'
  const seen = lastContact === null ? 'never seen' : `last contact ${relative(lastContact, now)}`
  const state = connected ? `connected, ${seen}` : seen
  return [state, nextWords(next, now)].filter((part) => part !== '').join(', ')
}

function nextWords(next: Connection['next_contact'], now: Date): string {
  if (next.kind === 'after_current_work_step') return 'next contact after current work step'
  if (next.kind !== 'scheduled' || next.expected_at === null) return ''
  return next.overdue
    ? `overdue since ${relative(next.expected_at, now)}`
    : `next contact ${relative(next.expected_at, now)}`
}

/** How far a message got: stored, offered, acknowledged. */
export function deliveryWords({ delivery }: Message, now: Date): string {
  const { stored_at: stored, first_offered_at: offered, offers, acknowledged_at: acknowledged } = delivery
  return [
    `stored ${relative(stored, now)}`,
    offered === null
      ? 'not offered yet'
      : `offered ${relative(offered, now)}${offers > 1 ? `, ${offers} times` : ''}`,
    acknowledged === null ? 'not acknowledged' : `acknowledged ${relative(acknowledged, now)}`,
  ].join('; ')
}
