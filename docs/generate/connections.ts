/** The connection words as a table: what presence answers after each thing that it can have observed. */
import { limits } from '../../sdk/contract/limits.ts'
import type { Connection } from '../../sdk/contract/presence.ts'
import { createPresence } from '../../server/delivery/presence.ts'
import { table } from './markdown.ts'

const start = Date.parse('2026-01-01T00:00:00.000Z')

/** What presence says `after` seconds once `happened` took place at the start. */
function observed(
  after: number,
  happened: (presence: ReturnType<typeof createPresence>, at: Date) => void,
): Connection {
  let now = new Date(start)
  const presence = createPresence(() => now, limits.waitsPerNode)
  happened(presence, now)
  now = new Date(start + after * 1000)
  return presence.connection('agent', now, null)
}

export function connectionTable(): string {
  const contact = (presence: ReturnType<typeof createPresence>, at: Date) => {
    presence.touch('agent', 'session', at)
  }
  const { connectedSeconds, listeningGraceSeconds } = limits
  const cases: [string, Connection][] = [
    ['nothing since it was created', observed(0, () => {})],
    [`contact ${connectedSeconds - 1} seconds ago`, observed(connectedSeconds - 1, contact)],
    [`contact ${connectedSeconds} seconds ago`, observed(connectedSeconds, contact)],
    ['a wait is open', observed(0, (presence) => void presence.openWait('agent', 'session'))],
    ...[listeningGraceSeconds - 1, listeningGraceSeconds].map((seconds): [string, Connection] => [
      `contact, and a wait that ended ${seconds} seconds ago`,
      observed(seconds, (presence, at) => {
        contact(presence, at)
        presence.openWait('agent', 'session')()
      }),
    ]),
  ]
  return table(
    ['observed', '`connected`', '`listening_now`', '`next_contact.kind`'],
    cases.map(([words, { connected, listening_now, next_contact }]) => [
      words,
      String(connected),
      String(listening_now),
      `\`${next_contact.kind}\``,
    ]),
  )
}
