/**
 * Formats ages, connections and delivery states as text. Each word has the meaning that the contract gives
 * it.
 *
 * No text claims that a model has read a message (spec §1, contract §6).
 */
import type { Connection, Message } from '../../sdk/index.ts'

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
  if (distance < 1 || Number.isNaN(difference)) return 'just now'
  const amount = duration(distance)
  return difference > 0 ? `${amount} ago` : `in ${amount}`
}

/** Age of a past event. If two clocks differ slightly, the event is `just now`, never in the future. */
export const ago = (instant: string, now: Date): string =>
  Date.parse(instant) > now.getTime() ? 'just now' : relative(instant, now)

/** `expires in 2 hours`, `expired 3 minutes ago`. */
export const expiryWords = (instant: string, now: Date): string =>
  `${Date.parse(instant) > now.getTime() ? 'expires' : 'expired'} ${relative(instant, now)}`

/** Rounded down to its largest unit: 90 minutes are `1 hour`. */
export function duration(seconds: number): string {
  const step = steps.find((unit) => seconds >= unit.seconds) ?? steps[3]
  return counted(Math.floor(seconds / step.seconds), step.word)
}

/** {@link duration} without rounding: 90 seconds are `90 seconds`. */
export function exactDuration(seconds: number): string {
  const step = steps.find((unit) => seconds >= unit.seconds && seconds % unit.seconds === 0) ?? steps[3]
  return counted(seconds / step.seconds, step.word)
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

/** Describes the connection of an agent, as the node observed it. */
export function connectionWords(connection: Connection, now: Date): string {
  const { connected, listening_now: listening, last_contact_at: lastContact, next_contact: next } = connection
  if (listening) return 'listening now'
  const seen = lastContact === null ? 'never seen' : `last contact ${ago(lastContact, now)}`
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

/** Describes how far the delivery of a message got: stored, offered, acknowledged. */
export function deliveryWords({ delivery }: Message, now: Date): string {
  const { stored_at: stored, first_offered_at: offered, offers, acknowledged_at: acknowledged } = delivery
  return [
    `stored ${ago(stored, now)}`,
    offered === null
      ? 'not offered yet'
      : `offered ${ago(offered, now)}${offers > 1 ? `, ${offers} times` : ''}`,
    acknowledged === null ? 'not acknowledged' : `acknowledged ${ago(acknowledged, now)}`,
  ].join('; ')
}
