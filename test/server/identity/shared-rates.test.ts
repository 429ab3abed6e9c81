/** Rates of several nodes that tell each other what they admitted, with a clock that the test moves. */
import { expect, test } from 'vitest'
import type { Entries, Topic } from '../../../server/bus/entries.ts'
import { createThrottle } from '../../../server/identity/throttle.ts'

const rates = {
  ratePerSecond: 50,
  rateBurst: 100,
  publicPerSecond: 1,
  publicBurst: 1,
  failedAuthPerMinute: 10,
}

/** Nodes whose entries arrive at once. `hears` cuts them off. */
function nodes(count: number, hears = true) {
  let now = 0
  const listeners: { node: number; topic: Topic; listener: (entry: never, from: string) => void }[] = []
  const throttles = Array.from({ length: count }, (_, node) =>
    createThrottle(() => now, rates, {
      mode: 'notified',
      tell<T extends Topic>(topic: T, entry: Entries[T]) {
        if (!hears) return
        for (const each of listeners)
          if (each.node !== node && each.topic === topic) each.listener(entry as never, String(node))
      },
      hear(topic, listener) {
        listeners.push({ node, topic, listener })
      },
    }),
  )
  const admits = (node: number, agent: string): boolean => {
    try {
      throttles[node]?.takeAgent(agent)
      return true
    } catch {
      return false
    }
  }
  /** Each node is asked `perSecond` times a second, evenly. Returns the admitted requests of each second. */
  const run = (seconds: number, perSecond: number): number[] =>
    Array.from({ length: seconds }, () => {
      let admitted = 0
      for (let ms = 0; ms < 1000; ms += 1) {
        now += 1
        for (let node = 0; node < count; node += 1)
          if (Math.floor((ms * perSecond) / 1000) !== Math.floor(((ms - 1) * perSecond) / 1000))
            admitted += admits(node, 'ada') ? 1 : 0
      }
      for (const throttle of throttles) throttle.share()
      return admitted
    })
  const pass = (ms: number) => {
    now += ms
  }
  return { run, admits, pass, throttles }
}

test.each([2, 3, 4, 8, 20])(
  'an agent that asks %i nodes without pause gets the rate of one after two seconds',
  (count) => {
    // Each node admits in one second and pays in the next ones. These are whole rounds of that.
    const admitted = nodes(count)
      .run(2 + 12 * count, 200)
      .slice(2)
    const total = admitted.reduce((sum, each) => sum + each, 0)
    expect(total / admitted.length).toBeLessThanOrEqual(rates.ratePerSecond * 1.05)
    expect(total / admitted.length).toBeGreaterThan(rates.ratePerSecond * 0.5)
  },
)

test('the control: nodes that hear nothing admit the rate each', () => {
  const admitted = nodes(2, false).run(22, 200).slice(2)
  expect(admitted.reduce((sum, each) => sum + each, 0) / admitted.length).toBeCloseTo(100, 0)
})

test('an agent that stays below half of the rate at each node is never refused', () => {
  expect(nodes(2).run(10, 24)).toEqual(Array.from({ length: 10 }, () => 48))
})

test('an agent at one node keeps the whole rate, and another agent is not charged', () => {
  const { run, admits } = nodes(2)
  run(5, 0)
  expect(admits(0, 'ben')).toBe(true)
  expect(nodes(1).run(10, 50)).toEqual(Array.from({ length: 10 }, () => 50))
})

test.each([4, 20])(
  'an agent that asks %i nodes gets no more from them if each admits too little to tell',
  (count) => {
    // Each node is asked for a tenth of the rate.
    const admitted = nodes(count)
      .run(2 + 12 * count, 5)
      .slice(2)
    const total = admitted.reduce((sum, each) => sum + each, 0)
    expect(total / admitted.length).toBeLessThanOrEqual(rates.ratePerSecond * 1.05)
  },
)

test.each([
  [2, 2100],
  [8, 8100],
])('an agent that has asked %i nodes without pause is refused for at most %i ms', (count, ms) => {
  const { run, admits, pass } = nodes(count)
  run(5, 500)
  pass(ms)
  for (let node = 0; node < count; node += 1) expect(admits(node, 'ada')).toBe(true)
})

test('failed authentications of a network are counted at all nodes, and those of another are not', () => {
  const { throttles } = nodes(2)
  const fail = (node: number, address = '203.0.113.7') => throttles[node]?.countFailure('proof', address)
  for (let count = 0; count < 6; count += 1) fail(0)
  for (let count = 0; count < 4; count += 1) fail(1)
  for (const throttle of throttles) throttle.share()
  expect(() => fail(0)).toThrow(/Too many failed/)
  expect(() => fail(1)).toThrow(/Too many failed/)
  expect(() => fail(1, '203.0.113.8')).not.toThrow()
})
