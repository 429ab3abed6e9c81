/**
 * The five words of an agent's connection, and the mark beside them.
 *
 * Old data must not look live: if it is stale, every word is Unavailable. An agent that answers after its
 * current work step has no time of next contact, so it never shows a countdown.
 */
import { type Connection, connectionLabels as labels } from '../../../../sdk/browser.ts'
import { span, when } from './time.ts'

export type MarkName = 'listening' | 'connected' | 'step' | 'overdue' | 'away' | 'unavailable' | 'disabled'

export interface Presence {
  readonly mark: MarkName
  /** The most important word, for a place with room for one. */
  readonly summary: string
  readonly connected: string
  readonly listening: string
  readonly lastContact: string
  readonly nextContact: string
}

/** `nowMs` is the node's present time. `isStale` is true if the data is older than 30 seconds. */
export function presence(connection: Connection, nowMs: number, isStale: boolean): Presence {
  if (isStale) {
    const word = labels.unavailable
    return {
      ...{ mark: 'unavailable', summary: word, connected: word },
      ...{ listening: word, lastContact: word, nextContact: word },
    }
  }
  const { connected, listening_now, last_contact_at } = connection
  const lastContact = last_contact_at === null ? 'never' : when(last_contact_at, nowMs)
  const nextContact = next(connection, nowMs)
  const mark = markOf(connection)
  return {
    mark,
    summary: summaryOf(mark, nextContact),
    connected: connected ? 'yes' : 'no',
    listening: listening_now ? 'yes' : 'no',
    lastContact,
    nextContact,
  }
}

function markOf({ connected, listening_now, next_contact }: Connection): MarkName {
  if (next_contact.overdue) return 'overdue'
  if (listening_now) return 'listening'
  if (next_contact.kind === 'after_current_work_step') return 'step'
  return connected ? 'connected' : 'away'
}

function summaryOf(mark: MarkName, nextContact: string): string {
  if (mark === 'listening') return labels.listening_now
  if (mark === 'connected') return labels.connected
  return mark === 'away' ? 'Not connected' : nextContact
}

function next({ next_contact: { kind, expected_at, overdue } }: Connection, nowMs: number): string {
  const ms = expected_at === null ? undefined : Date.parse(expected_at) - nowMs
  if (overdue) return ms === undefined || ms > 0 ? labels.overdue : `${labels.overdue}, by ${span(-ms)}`
  if (kind === 'listening') return labels.listening_now
  if (kind === 'after_current_work_step') return labels.after_current_work_step
  if (kind === 'scheduled' && ms !== undefined) return ms < 1000 ? 'due now' : `in ${span(ms)}`
  return 'unknown'
}
