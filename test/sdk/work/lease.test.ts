/**
 * The time for which a claim counts as valid while the node does not answer, with a clock that only the
 * pauses move.
 */
import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { Task } from '../../../sdk/index.ts'
import { LocalError } from '../../../sdk/transport/failures.ts'
import { Lease } from '../../../sdk/work/lease.ts'
import type { Tasks } from '../../../sdk/work/tasks.ts'
import { virtualTime } from '../../support/virtual-time.ts'

const task = { id: 't1', state: 'claimed', claim_ttl_seconds: 30 } as Task

interface Case {
  readonly stopWithinMs: number
  /** The time at which the claim was requested, and that of its answer. */
  readonly claimedMs?: number
  readonly nowMs?: number
  /** Renewals from this time on get no answer. */
  readonly awayMs?: number
  /** The network is silent: those renewals end at their time limit, or when they are aborted. */
  readonly silent?: boolean
}

/** Returns the time at which the work was asked to stop, and the times of the renewals. */
async function lostAt({ stopWithinMs, claimedMs = 0, nowMs: startMs = 0, awayMs = 0, silent = false }: Case) {
  const { nowMs, sleep } = virtualTime(startMs)
  const renewals: number[] = []
  const tasks = {
    renew: async (_: Task, { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number }) => {
      renewals.push(nowMs())
      if (nowMs() < awayMs) return task
      if (silent) await sleep(timeoutMs, signal)
      throw new LocalError(silent ? 'timeout' : 'unreachable', 'nobody is there')
    },
  } as unknown as Tasks
  const lease = new Lease({ tasks, sleep, monotonicMs: nowMs, stopWithinMs }, task, claimedMs)
  await once(lease.signal, 'abort')
  expect(lease.why).toBe('claim_lost')
  return { now: nowMs(), first: renewals[0] }
}

test.each([
  { stopWithinMs: 0, lost: 30_000 },
  { stopWithinMs: 5_000, lost: 25_000 },
  { stopWithinMs: 60_000, lost: 20_000 },
])(
  'with $stopWithinMs ms to stop in, work ends $lost ms into a lease of 30 s without renewals',
  async ({ stopWithinMs, lost }) => {
    expect(await lostAt({ stopWithinMs })).toEqual({ now: lost, first: 10_000 })
  },
)

test('a renewal that hangs does not keep the work beyond the end of its claim', async () => {
  expect(await lostAt({ stopWithinMs: 0, silent: true })).toEqual({ now: 30_000, first: 10_000 })
  expect(await lostAt({ stopWithinMs: 5_000, silent: true })).toEqual({ now: 25_000, first: 10_000 })
  expect(await lostAt({ stopWithinMs: 0, silent: true, awayMs: 15_000 })).toEqual({
    now: 40_000,
    first: 10_000,
  })
})

test('a claim that is already old is renewed once before it is given up', async () => {
  const old = { stopWithinMs: 0, claimedMs: 0, nowMs: 50_000 }
  expect(await lostAt({ ...old, awayMs: 51_000 })).toEqual({ now: 80_000, first: 50_000 })
  expect(await lostAt({ ...old, silent: true })).toEqual({ now: 55_000, first: 50_000 })
})

test('a lease starts when it was requested, and again with each successful renewal', async () => {
  const late = await lostAt({ stopWithinMs: 0, claimedMs: 1_000, nowMs: 5_000 })
  expect(late).toEqual({ now: 31_000, first: 11_000 })
  expect(await lostAt({ stopWithinMs: 0, awayMs: 15_000 })).toEqual({ now: 40_000, first: 10_000 })
})
