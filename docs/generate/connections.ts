/** Table of the `connection` of an agent, as the presence of the server reports it after each observation. */
import { limits } from '../../sdk/contract/limits.ts'
import type { Connection } from '../../sdk/contract/presence.ts'
import type { StoredContact } from '../../server/delivery/connection.ts'
import { createPresence } from '../../server/delivery/presence.ts'
import { grid } from './markdown.ts'

const start = Date.parse('2026-01-01T00:00:00.000Z')

const activeSession: StoredContact = {
  last_contact_at: null,
  session_state: 'active',
  agent_state: 'enabled',
  credential_expires_at: null,
  credential_revoked_at: null,
  contact_mode: null,
  contact_interval_seconds: null,
}

/** Returns the presence that the node reports `after` seconds after the start, when `happened` took place. */
function observed(
  after: number,
  happened: (presence: ReturnType<typeof createPresence>, at: Date) => void,
  session?: Partial<StoredContact>,
): Connection {
  let now = new Date(start)
  const presence = createPresence({ now: () => now, wall: (iso) => iso }, limits.waitsPerNode)
  happened(presence, now)
  now = new Date(start + after * 1000)
  return presence.connection('agent', now, session && { ...activeSession, ...session })
}

const waiting = { agent_id: 'agent', project_id: 'project', session: { id: 'session' } }

export function connectionTable(): string {
  const contact = (presence: ReturnType<typeof createPresence>, at: Date) => {
    presence.touch('agent', 'session', at)
  }
  const { connectedSeconds, listeningGraceSeconds } = limits
  const cases: [string, Connection][] = [
    ['nothing since it was created', observed(0, () => {})],
    [`contact ${connectedSeconds - 1} seconds ago`, observed(connectedSeconds - 1, contact)],
    [`contact ${connectedSeconds} seconds ago`, observed(connectedSeconds, contact)],
    ['a wait is open', observed(0, (presence) => void presence.openWait(waiting, 'long_poll'))],
    ...[listeningGraceSeconds - 1, listeningGraceSeconds].map((seconds): [string, Connection] => [
      `contact, and a wait that ended ${seconds} seconds ago`,
      observed(seconds, (presence, at) => {
        contact(presence, at)
        presence.openWait(waiting, 'long_poll')()
      }),
    ]),
    ...[30, 90, 91].map((seconds): [string, Connection] => [
      `a schedule of 60 seconds, contact ${seconds} seconds ago`,
      observed(seconds, contact, { contact_mode: 'short_poll', contact_interval_seconds: 60 }),
    ]),
    ['checkpoints, contact just now', observed(0, contact, { contact_mode: 'checkpoint' })],
    ['contact just now, by a session that is fenced', observed(0, contact, { session_state: 'fenced' })],
    [
      'contact just now, by a credential that has expired',
      observed(0, contact, { credential_expires_at: new Date(start).toISOString() }),
    ],
  ]
  return grid(
    ['observed', '`connected`', '`listening_now`', '`next_contact.kind`', '`overdue`'],
    cases.map(([words, { connected, listening_now, next_contact }]) => [
      words,
      String(connected),
      String(listening_now),
      `\`${next_contact.kind}\``,
      String(next_contact.overdue),
    ]),
  )
}
