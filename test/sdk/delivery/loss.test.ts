/**
 * A bad network: of a hundred chunks twenty are late and some are cut off with a reset. No message is lost.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ListenTransport } from '../../../sdk/index.ts'
import { listenTransports } from '../../../sdk/program.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { bridgeOf, Ear } from '../../support/sdk-listener.ts'
import { startBetween } from './between.ts'

let bridge: TestBridge
const agents = new Map<number, TestAgent>()
const undo: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  bridge = await startBridge()
  // This runs before any clock moves, because an owner's sign-in stays confirmed for ten minutes.
  for (const [seed] of cases) agents.set(seed, await bridge.agent(`agent-${seed}`))
})
afterAll(() => bridge.close())
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

const cases: [seed: number, transports: readonly ListenTransport[]][] = [
  [11, ['socket']],
  [12, ['sse']],
  [13, ['long-poll']],
  [14, listenTransports],
  [15, listenTransports],
]

test.each(cases)('with seed %i every message arrives over %j', async (seed, transports) => {
  const agent = agents.get(seed)
  if (agent === undefined) throw new Error('no such case')
  const proxy = await startBetween(bridge.server.port)
  const client = bridgeOf(agent, {
    baseUrl: proxy.url,
    transports,
    clock: bridge.clock,
    // The lengths of pauses are not tested, so they are short.
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 20))),
  })
  const ear = new Ear(client)
  undo.push(
    () => proxy.close(),
    () => client.close(),
    () => ear.stop(),
  )
  // The first connection succeeds; afterwards the network causes faults.
  await bridge.owner.message(bridge.project.id, agent.id, 'first')
  await ear.heard('first')
  proxy.harm = { loss: { seed, late: 20, lateMs: 15, cut: 8 } }
  proxy.cut()
  const texts: string[] = []
  while (texts.length < 60 || (proxy.lost.cut < 4 && texts.length < 600)) {
    texts.push(`text ${texts.length}`)
    await bridge.owner.message(bridge.project.id, agent.id, texts.at(-1) ?? '')
  }

  // Acknowledgements are not tested here, so they bypass the bad network.
  const direct = bridgeOf(agent, { clock: bridge.clock })
  undo.push(() => direct.close())
  const isWhole = () => texts.every((text) => ear.bodies.includes(text))
  for (let turn = 0; turn < 100 && !isWhole(); turn += 1) {
    const before = ear.messages.length
    await direct.acknowledgements.create(ear.messages.map(({ id }) => id))
    await expect
      .poll(() => ear.messages.length > before || isWhole(), { timeout: 400 })
      .toBe(true)
      .catch(() => {})
    // Lost messages are due again.
    bridge.clock.advance(61)
  }
  expect([...new Set(ear.bodies)].sort()).toEqual(['first', ...texts].sort())
  const offers = ear.messages.map(({ id, delivery }) => `${id} ${delivery.attempt}`)
  expect(new Set(offers).size).toBe(offers.length)
  expect(proxy.lost.late).toBeGreaterThan(0)
  expect(proxy.lost.cut).toBeGreaterThanOrEqual(4)
})
