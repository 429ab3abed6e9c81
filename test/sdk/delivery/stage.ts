/**
 * A node with enrolled agents, proxies in front of it and listeners; everything that a test opens is closed
 * after it.
 */
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { Bridge, BridgeOptions } from '../../../sdk/index.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { bridgeOf, Ear, movableMs } from '../../support/sdk-listener.ts'
import { type Between, type Harm, startBetween } from './between.ts'

type Asked = 'socket' | 'events' | 'inbox'

/**
 * Called once per test file. Agents are enrolled before any clock moves, because an owner's sign-in stays
 * confirmed for ten minutes.
 */
export function stage(count: number) {
  let bridge: TestBridge
  const agents: TestAgent[] = []
  const undo: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    bridge = await startBridge()
    for (let nth = 1; nth <= count; nth += 1) agents.push(await bridge.agent(`agent-${nth}`))
  })
  afterAll(() => bridge.close())
  afterEach(async () => {
    for (const each of undo.splice(0).reverse()) await each()
  })

  return {
    get bridge() {
      return bridge
    },
    /** Registers a clean-up after the test; the last one runs first. */
    after: (put: () => Promise<unknown>) => void undo.push(put),
    someone(): TestAgent {
      const agent = agents.pop()
      if (agent === undefined) throw new Error('more tests than agents')
      return agent
    },
    async between(harm: Harm = {}): Promise<Between> {
      const started = await startBetween(bridge.server.port, harm)
      undo.push(() => started.close())
      return started
    },
    listen(agent: TestAgent, options: Partial<BridgeOptions>): { ear: Ear; client: Bridge } {
      const client = bridgeOf(agent, options)
      const ear = new Ear(client)
      undo.push(async () => {
        await ear.stop()
        await client.close()
      })
      return { ear, client }
    },
    tell: (agent: TestAgent, text: string) => bridge.owner.message(bridge.project.id, agent.id, text),
    /** The number of offers of the last message to an agent. */
    async offersOf(agent: TestAgent): Promise<number> {
      const target = `/api/admin/projects/${bridge.project.id}/conversations`
      const { conversations } = await bridge.owner.ok<{
        conversations: { id: string; participants: { agent_id: string | null }[] }[]
      }>({ target: `${target}?limit=100` })
      const found = conversations.find(({ participants }) =>
        participants.some((each) => each.agent_id === agent.id),
      )
      const { messages } = await bridge.owner.ok<{ messages: { delivery: { offers: number } }[] }>({
        target: `${target}/${found?.id}/messages`,
      })
      return messages.at(-1)?.delivery.offers ?? 0
    },
    /** Time that passes for client and node alike: both clocks of the client, and the node's clock. */
    time() {
      const monotonicMs = movableMs()
      return {
        client: { clock: bridge.clock, monotonicMs },
        pass(seconds: number) {
          monotonicMs.advance(seconds * 1000)
          bridge.clock.advance(seconds)
        },
      }
    },
  }
}

/** Counts the requests of one kind through a proxy. */
export const times = (proxy: Between, what: Asked): number =>
  proxy.asked.filter((line) => line.split('?', 1)[0] === `GET /api/v1/${what}`).length

/** Waits until the proxy has seen this number of requests. */
export const asks = (proxy: Between, what: Asked, count: number): Promise<void> =>
  expect.poll(() => times(proxy, what)).toBe(count)
