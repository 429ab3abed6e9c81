/**
 * After an interval in which notices of other nodes may have been lost, the five parts of the server that live by such
 * notices read again.
 */
import { expect, test, vi } from 'vitest'
import { noBus } from '../../../server/bus/bus.ts'
import { createCommitListeners } from '../../../server/database/commit-listeners.ts'
import type { Listener, Listeners, OthersSummary } from '../../../server/database/listeners.ts'
import type { Reader } from '../../../server/database/reader.ts'
import { followOtherNodes, OtherNodes } from '../../../server/delivery/other-nodes.ts'
import { OwnListeners } from '../../../server/delivery/own-listeners.ts'
import { shareCommits } from '../../../server/delivery/shared-commits.ts'
import { createWakeups } from '../../../server/delivery/wakeups.ts'
import { createIdentities } from '../../../server/identity/identities.ts'

/** A bus that hears nothing until a test lets a gap end. */
function gappyBus() {
  const listeners: (() => void)[] = []
  return {
    ...noBus,
    mode: 'notified' as const,
    onGap: (listener: () => void) => void listeners.push(listener),
    gap() {
      for (const listener of listeners) listener()
    },
  }
}

const log = { error: vi.fn() }
const waiting: Listener = {
  ...{ agent_id: 'ada', project_id: 'demo', waiting: 1, listening: 1 },
  ...{ since: '2026-01-01T00:00:00.000Z', ended_at: null },
}

/** The table of the waits, in memory. */
function tableOf(others: readonly Listener[]) {
  const written: Listener[] = []
  const reads = { count: 0 }
  const table: Listeners = {
    async write(rows) {
      written.push(...rows)
    },
    async readOthers() {
      reads.count += 1
      return others.map((each) => ({ ...each, node_id: 'other' }))
    },
    readSummary: () => new Promise<OthersSummary>(() => {}),
    async clean() {},
  }
  return { table, written, reads }
}

test('every open wait is woken, and none of an agent that has left', () => {
  const bus = gappyBus()
  const wakeups = createWakeups(bus)
  const woken: string[] = []
  wakeups.subscribe('ada', () => woken.push('ada'))
  wakeups.subscribe('ben', () => woken.push('ben'))
  wakeups.subscribe('cleo', () => woken.push('cleo'))()
  bus.gap()
  expect(woken).toEqual(['ada', 'ben'])
})

test('the live views of every project read again, and none that was closed', () => {
  const bus = gappyBus()
  const commits = createCommitListeners()
  shareCommits(bus, commits)
  const read: string[] = []
  commits.subscribe('first', () => read.push('first'))
  commits.subscribe('second', () => read.push('second'))
  commits.subscribe('third', () => read.push('third'))()
  bus.gap()
  expect(read).toEqual(['first', 'second'])
})

test('every credential is read again', async () => {
  const bus = gappyBus()
  const row = { id: 'one', agent_id: 'ada', binding: 'ed25519', expires_at: null, revoked_at: null }
  const read = vi.fn(async () => ({ ...row, public_key: null, device: null, secret_sha256: null }))
  const identities = createIdentities(read as unknown as Reader['read'], bus)
  const find = () => identities.find('one', new Date())
  await find()
  await find()
  expect(read).toHaveBeenCalledTimes(1)
  bus.gap()
  await find()
  expect(read).toHaveBeenCalledTimes(2)
})

test('the waits at other nodes are read at once, not at the next look', async () => {
  const bus = gappyBus()
  const { table, reads } = tableOf([waiting])
  const others = new OtherNodes({ waits() {} })
  vi.useFakeTimers()
  try {
    const stop = followOtherNodes({ bus, log }, others, table)
    await vi.advanceTimersByTimeAsync(1000)
    expect(reads.count).toBe(1)
    bus.gap()
    await vi.advanceTimersByTimeAsync(0)
    expect(reads.count).toBe(2)
    expect(others.of('ada')?.listening).toBe(true)
    stop()
  } finally {
    vi.useRealTimers()
  }
})

test('the waits at this node are stored again', async () => {
  const bus = gappyBus()
  const { table, written } = tableOf([])
  vi.useFakeTimers()
  try {
    const { agent_id, project_id, listening, ended_at } = waiting
    const waitsOf = () => ({ agent_id, project_id, waiting: 1 as const, listening, ended_at })
    const services = { bus, log, nodes: { onReturn() {} }, now: () => new Date(), waitsOf }
    const own = new OwnListeners(services, table)
    own.changed('ada')
    await vi.advanceTimersByTimeAsync(1000)
    expect(written).toHaveLength(1)
    bus.gap()
    await vi.advanceTimersByTimeAsync(1000)
    expect(written).toHaveLength(2)
    await own.stop()
  } finally {
    vi.useRealTimers()
  }
  expect(log.error).not.toHaveBeenCalled()
})
