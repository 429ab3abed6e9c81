/** The elapsed time while the machine sleeps or its clock is set. */
import { expect, test } from 'vitest'
import { createElapsed } from '../../sdk/parts/elapsed.ts'

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

test('time passes with the monotonic clock, and the uptime is not read', () => {
  const { at, passed, run } = machine()
  const { looks } = at
  run(hour)
  expect([passed(), at.looks]).toEqual([hour, looks])
})

test.each([hour, -hour, 1000, -1000])('setting the clock by %i ms does not count as elapsed time', (step) => {
  const { at, passed, run } = machine()
  at.wall += step
  expect(passed()).toBe(0)
  run(1500)
  expect(passed()).toBe(1500)
  at.wall -= step
  expect(passed()).toBe(1500)
})

test('a sleep counts, also a second sleep and one during which the clock was set', () => {
  const { at, passed, run, sleep } = machine()
  sleep(8 * hour)
  expect(passed()).toBe(8 * hour)
  run(1234)
  expect(passed()).toBe(8 * hour + 1234)
  sleep(hour)
  at.wall -= 24 * hour
  expect(Math.abs(passed() - 9 * hour - 1234)).toBeLessThan(1000)
})
