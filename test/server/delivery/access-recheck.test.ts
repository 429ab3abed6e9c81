/** How often a node asks whether its open waits have lost access, while notifications of other nodes arrive. */
import { afterEach, expect, test, vi } from 'vitest'
import type { PeersMode } from '../../../server/bus/bus.ts'
import { type RecheckServices, startAccessRecheck } from '../../../server/delivery/recheck.ts'

afterEach(() => void vi.useRealTimers())

/** Returns how often a node with one open wait has asked after each second. */
async function askedAfterEachSecond(mode: PeersMode): Promise<number[]> {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let asked = 0
  const presence = {
    occupiedSessions: () => [['session', 'agent']],
    dueRenewals: () => [],
    unsavedContacts: () => [],
  }
  const services = {
    bus: { mode },
    nodes: { isMember: () => true },
    steady: { now: () => new Date() },
    clock: () => new Date(),
    read: async () => {
      asked += 1
      return []
    },
    presence,
  }
  const stop = startAccessRecheck(services as unknown as RecheckServices)
  const counts: number[] = []
  for (let second = 1; second <= 4; second += 1) {
    await vi.advanceTimersByTimeAsync(1000)
    counts.push(asked)
  }
  stop()
  return counts
}

test('a node asks every second on PostgreSQL, because a notification may be lost unnoticed', async () => {
  expect(await askedAfterEachSecond('notified')).toEqual([1, 2, 3, 4])
  expect(await askedAfterEachSecond('polled')).toEqual([1, 2, 3, 4])
})

test('a node asks every two seconds on SQLite', async () => {
  expect(await askedAfterEachSecond('none')).toEqual([0, 1, 1, 2])
})
