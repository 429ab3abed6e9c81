/**
 * The clock of the node is set while a lifetime runs: nothing ends early, and an ended lifetime stays ended.
 * Across a restart the wall clock gives the time that passed; a clock set back in between revives nothing.
 *
 * Contract §5 "Lifetimes".
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { type GoesOn, type Lifetime, lifetimesOf } from './lifetimes.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const lifetimes = lifetimesOf(() => bridge)
const [hour, day] = [3600, 86_400]
/** Seconds for the requests of the test itself, which take real time. */
const margin = 10

async function pass({ askedEverySeconds: step }: Lifetime, seconds: number, ...all: GoesOn[]): Promise<void> {
  let left = seconds
  for (; step !== undefined && left > step; left -= step) {
    bridge.clock.advance(step)
    for (const goesOn of all) expect(await goesOn()).toBe(true)
  }
  bridge.clock.advance(left)
}

/** The clock is set one hour, and then one day, forward or back. */
const directions = [
  ['on', 1],
  ['back', -1],
] as const

describe.each(Object.entries(lifetimes))('%s', (_, lifetime) => {
  const { seconds, begin } = lifetime

  test.each(directions)('ends on time, and not early, when the clock is set %s', async (_direction, sign) => {
    onTestFinished(bridge.clock.hold())
    const [early, late] = [await begin(), await begin()]
    bridge.clock.step(sign * hour)
    await pass(lifetime, seconds / 2, early, late)
    bridge.clock.step(sign * (day - hour))
    await pass(lifetime, seconds / 2 - margin, early, late)
    expect(await early()).toBe(true)
    await pass(lifetime, margin + 1, late)
    expect(await late()).toBe(false)
    bridge.clock.step(-sign * day)
  })

  test('is not revived by a clock that is set back', async () => {
    onTestFinished(bridge.clock.hold())
    const goesOn = await begin()
    await pass(lifetime, seconds + 1, goesOn)
    bridge.clock.step(-day)
    expect(await goesOn()).toBe(false)
    bridge.clock.step(day)
  })
})

describe('across a restart', () => {
  /** Returns the names of the lifetimes that are still running after `happen`. */
  const goingOn = async (happen: () => Promise<void>): Promise<string[]> => {
    const begun: [string, GoesOn][] = []
    for (const [name, { begin }] of Object.entries(lifetimes)) begun.push([name, await begin()])
    await happen()
    const on: string[] = []
    for (const [name, goesOn] of begun) if (await goesOn()) on.push(name)
    return on
  }
  const restarted = async (meanwhile: () => void) => {
    await bridge.server.stop()
    meanwhile()
    bridge = await bridge.restart()
  }

  test('lifetimes that have not ended continue, also if the clock was set back in between', async () => {
    onTestFinished(bridge.clock.hold())
    const all = Object.keys(lifetimes)
    expect(await goingOn(() => restarted(() => {}))).toEqual(all)
    expect(await goingOn(() => restarted(() => bridge.clock.step(-day)))).toEqual(all)
    bridge.clock.step(day)
  })

  // A node removes old nonces every 15 s. With its clock a day back it then refuses every proof for hours.
  beforeAll(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterAll(() => void vi.useRealTimers())

  const longer = Object.keys(lifetimes).filter((name) => (lifetimes[name]?.seconds ?? 0) > 13 * hour)

  test('lifetimes that end while the node is stopped are ended after the start', async () => {
    expect(await goingOn(() => restarted(() => bridge.clock.advance(13 * hour)))).toEqual(longer)
  })

  test.each([hour, day])('a clock that is set back by %i s in between revives nothing', async (seconds) => {
    const after = goingOn(async () => {
      bridge.clock.advance(13 * hour)
      await restarted(() => bridge.clock.step(-seconds))
    })
    expect(await after).toEqual(longer)
    bridge.clock.step(seconds)
  })
})
