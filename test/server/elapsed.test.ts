/** The time that passes while the machine sleeps, or while somebody sets its clock. */
import { expect, test } from 'vitest'
import { createElapsed } from '../../server/elapsed.ts'

const hour = 3_600_000

function machine() {
  const at = { wall: Date.parse('2026-01-02T03:04:05.678Z'), monotonic: 5000, uptime: 90_000, looks: 0 }
  const elapsedMs = createElapsed({
    clock: () => new Date(at.wall),
    monotonicMs: () => at.monotonic,
    uptimeMs: () => {
      at.looks += 1
      // As coarse as on macOS.
      return Math.floor(at.uptime / 1000) * 1000
    },
  })
  const begun = elapsedMs()
  return {
    at,
    passed: () => elapsedMs() - begun,
    run: (ms: number) => {
      for (const clock of ['wall', 'monotonic', 'uptime'] as const) at[clock] += ms
    },
    sleep: (ms: number) => {
      for (const clock of ['wall', 'uptime'] as const) at[clock] += ms
    },
  }
}

test('time passes with the monotonic clock, and the uptime is not asked for', () => {
  const { at, passed, run } = machine()
  const { looks } = at
  run(hour)
  expect([passed(), at.looks]).toEqual([hour, looks])
})

test.each([hour, -hour, 1000, -1000])('a clock that is set by %i ms lets no time pass', (step) => {
  const { at, passed, run } = machine()
  at.wall += step
  expect(passed()).toBe(0)
  run(1500)
  expect(passed()).toBe(1500)
  at.wall -= step
  expect(passed()).toBe(1500)
})

test('a sleep counts, also one after the other and one in which the clock was set', () => {
  const { at, passed, run, sleep } = machine()
  sleep(8 * hour)
  expect(passed()).toBe(8 * hour)
  run(1234)
  expect(passed()).toBe(8 * hour + 1234)
  sleep(hour)
  at.wall -= 24 * hour
  expect(Math.abs(passed() - 9 * hour - 1234)).toBeLessThan(1000)
})
