/** How often the node stores the contact of agents whose waits are open. Contract §6. */
import { expect, test } from 'vitest'
import { createPresence, type Presence } from '../../../server/delivery/presence.ts'

const checkedEveryMs = 2000
const minuteMs = 60_000
const wait = (index: number) => ({
  agent_id: `agent ${index}`,
  project_id: 'project',
  session: { id: `session ${index}` },
})

/** Presence with a clock that the test moves. */
function open(): { readonly presence: Presence; readonly now: () => Date; move(ms: number): void } {
  let nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const now = () => new Date(nowMs)
  return {
    presence: createPresence({ now, wall: (iso) => iso }, 10_000),
    now,
    move: (ms) => {
      nowMs += ms
    },
  }
}

/** Opens one wait at each check of a minute, then checks for some minutes. Calls `renewed` at each check. */
function run(minutes: number, renewed: (sessions: readonly string[], now: Date) => void): number {
  const { presence, now, move } = open()
  const count = minuteMs / checkedEveryMs
  for (let check = 0; check < minutes * count; check += 1) {
    if (check < count) {
      const { agent_id, session } = wait(check)
      presence.touch(agent_id, session.id, now())
      presence.openWait(wait(check), 'socket')
    }
    renewed(presence.dueRenewals(now()), now())
    move(checkedEveryMs)
  }
  return count
}

test('the contact of each open wait is renewed within a minute and the next check', () => {
  const last = new Map<string, number>()
  let longestMs = 0
  const count = run(10, (sessions, now) => {
    for (const session of sessions) {
      const before = last.get(session)
      if (before !== undefined) longestMs = Math.max(longestMs, now.getTime() - before)
      last.set(session, now.getTime())
    }
  })
  expect(last.size).toBe(count)
  expect(longestMs).toBeGreaterThanOrEqual(minuteMs / 2)
  expect(longestMs).toBeLessThanOrEqual(minuteMs + checkedEveryMs)
})

test('waits that were opened at different times share their renewals', () => {
  let writes = 0
  const minutes = 10
  run(minutes, (sessions) => {
    if (sessions.length > 0) writes += 1
  })
  expect(writes).toBeGreaterThanOrEqual(minutes - 1)
  expect(writes).toBeLessThanOrEqual(2 * minutes)
})

test('contact is not renewed after a request, without a wait, or after the wait has ended', () => {
  const { presence, now, move } = open()
  const [waits, asks, idle] = [wait(1), wait(2), wait(3)]
  for (const { agent_id, session } of [waits, asks, idle]) presence.touch(agent_id, session.id, now())
  const close = presence.openWait(waits, 'socket')
  presence.openWait(asks, 'long_poll')
  move(minuteMs - 1)
  presence.touch(asks.agent_id, asks.session.id, now())
  expect(presence.dueRenewals(now())).toEqual([])
  move(1)
  expect(presence.dueRenewals(now())).toEqual([waits.session.id])
  expect(presence.dueRenewals(now())).toEqual([])
  close()
  move(minuteMs)
  expect(presence.dueRenewals(now())).toEqual([asks.session.id])
})
