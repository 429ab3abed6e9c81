/** What stands between an agent and its node lets some transports through and others not, and changes its mind. */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Bridge, BridgeOptions } from '../../../sdk/index.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { openSocket } from '../../support/streams.ts'
import { type Between, type Harm, startBetween } from './between.ts'
import { bridgeOf, Ear, movableMs, sessionsOf } from './listening.ts'

let bridge: TestBridge
const undo: (() => Promise<unknown>)[] = []

/** Enrolled before any clock moves: an owner's sign-in is fresh for ten minutes. */
const agents: TestAgent[] = []

beforeAll(async () => {
  bridge = await startBridge()
  for (let nth = 1; nth <= 30; nth += 1) agents.push(await bridge.agent(`agent-${nth}`))
})
afterAll(() => bridge.close())
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

function someone(): TestAgent {
  const agent = agents.pop()
  if (agent === undefined) throw new Error('more tests than agents')
  return agent
}

async function between(harm: Harm = {}): Promise<Between> {
  const started = await startBetween(bridge.server.port, harm)
  undo.push(() => started.close())
  return started
}

/** Time that goes on for client and node alike: both clocks of the client, and the node's. */
function time() {
  const monotonicMs = movableMs()
  return {
    client: { clock: bridge.clock, monotonicMs },
    pass(seconds: number) {
      monotonicMs.advance(seconds * 1000)
      bridge.clock.advance(seconds)
    },
  }
}

function listen(agent: TestAgent, options: Partial<BridgeOptions>): { ear: Ear; client: Bridge } {
  const client = bridgeOf(agent, options)
  const ear = new Ear(client)
  undo.push(async () => {
    await ear.stop()
    await client.close()
  })
  return { ear, client }
}

const tell = (agent: TestAgent, text: string) => bridge.owner.message(bridge.project.id, agent.id, text)
const times = (proxy: Between, what: 'socket' | 'events' | 'inbox') =>
  proxy.asked.filter((line) => line.startsWith(`GET /api/v1/${what}`)).length
const asks = (proxy: Between, what: 'socket' | 'events' | 'inbox', count: number) =>
  expect.poll(() => times(proxy, what), { timeout: 10_000 }).toBe(count)

test('without obstacles it is the socket, and nothing else is asked', async () => {
  const proxy = await between()
  const agent = someone()
  const { ear } = listen(agent, { baseUrl: proxy.url })
  await tell(agent, 'hello')
  await ear.heard('hello')
  expect(ear.transports).toEqual(['socket'])
  expect([times(proxy, 'socket'), times(proxy, 'events'), times(proxy, 'inbox')]).toEqual([1, 0, 0])
})

test('a proxy that answers upgrades itself costs one try, then the event stream is used', async () => {
  const proxy = await between({ upgrades: 'answered' })
  const agent = someone()
  const { ear } = listen(agent, { baseUrl: proxy.url })
  await ear.on('sse')
  await tell(agent, 'by stream')
  await ear.heard('by stream')
  expect([times(proxy, 'socket'), ear.connection]).toEqual([1, []])
})

test('a proxy that resets upgrades costs two tries', async () => {
  const proxy = await between({ upgrades: 'reset' })
  const agent = someone()
  const { ear } = listen(agent, { baseUrl: proxy.url })
  await ear.on('sse')
  expect(times(proxy, 'socket')).toBe(2)
})

test('a proxy that swallows upgrades costs ten seconds each of two tries', async () => {
  const proxy = await between({ upgrades: 'swallowed' })
  const agent = someone()
  const { client, pass } = time()
  const { ear } = listen(agent, { baseUrl: proxy.url, ...client })
  await asks(proxy, 'socket', 1)
  pass(11)
  await asks(proxy, 'socket', 2)
  pass(11)
  await ear.on('sse')
})

test('a proxy that holds streams back is noticed, and what it held comes again', async () => {
  const proxy = await between({ upgrades: 'answered', buffersStreams: true })
  const agent = someone()
  const { client, pass } = time()
  const { ear } = listen(agent, { baseUrl: proxy.url, ...client })
  await asks(proxy, 'events', 1)
  await tell(agent, 'held back')
  await expect.poll(() => offers(agent)).toBe(1)
  pass(11)
  await asks(proxy, 'events', 2)
  pass(11)
  await asks(proxy, 'inbox', 1)
  await tell(agent, 'by poll')
  await ear.heard('by poll')
  expect(ear.transports).toEqual(['long-poll'])
  bridge.clock.advance(61)
  await tell(agent, 'to wake the poll')
  await ear.heard('held back')
  expect(ear.messages.find(({ body }) => body === 'held back')?.delivery.attempt).toBe(2)
})

/** How often the last message to an agent was offered. */
async function offers(agent: TestAgent): Promise<number> {
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
}

test('an event stream is opened again with a fresh proof when its twenty seconds are over', async () => {
  const proxy = await between()
  const agent = someone()
  const { ear } = listen(agent, { baseUrl: proxy.url, clock: bridge.clock, transports: ['sse'] })
  await tell(agent, 'in the first')
  await ear.heard('in the first')
  await expect.poll(() => times(proxy, 'events'), { timeout: 30_000, interval: 200 }).toBe(2)
  await tell(agent, 'in the second')
  await ear.heard('in the second')
  expect([times(proxy, 'events'), ear.transports, ear.connection]).toEqual([2, ['sse'], []])
}, 60_000)

test('it comes back to the socket by itself, with growing intervals while that does not help', async () => {
  const proxy = await between({ upgrades: 'answered' })
  const agent = someone()
  const { client, pass } = time()
  const { ear } = listen(agent, { baseUrl: proxy.url, transports: ['socket', 'long-poll'], ...client })
  let told = 0
  /** Ends the poll, so that the next choice is made. */
  const nextPoll = async () => {
    const polls = times(proxy, 'inbox')
    await tell(agent, `wake ${++told}`)
    await ear.heard(`wake ${told}`)
    await ear.messages.at(-1)?.acknowledge()
    await expect.poll(() => times(proxy, 'inbox')).toBeGreaterThan(polls)
  }
  await asks(proxy, 'inbox', 1)
  await nextPoll()
  expect(times(proxy, 'socket')).toBe(1)
  pass(61)
  await nextPoll()
  expect(times(proxy, 'socket')).toBe(2)
  // Not after another minute, but after two.
  pass(61)
  await nextPoll()
  expect(times(proxy, 'socket')).toBe(2)
  pass(60)
  await nextPoll()
  expect(times(proxy, 'socket')).toBe(3)

  proxy.harm = {}
  pass(241)
  await tell(agent, 'last by poll')
  await ear.on('socket')
  await tell(agent, 'by socket')
  await ear.heard('by socket')
  expect(ear.transports).toEqual(['long-poll', 'socket'])
  expect(ear.connection).toEqual([])
  expect(ear.messages.map(({ delivery }) => delivery.attempt)).toEqual(ear.messages.map(() => 1))
})

test('a socket that breaks soon after it opened, twice in a row, is left for a while', async () => {
  const proxy = await between()
  const agent = someone()
  const { ear } = listen(agent, { baseUrl: proxy.url })
  await ear.on('socket')
  proxy.cut()
  await asks(proxy, 'socket', 2)
  await tell(agent, 'over the second')
  await ear.heard('over the second')
  expect(ear.transports).toEqual(['socket'])
  proxy.cut()
  await ear.on('sse')
})

test('a socket that was good for half a minute is opened again however often it breaks', async () => {
  const proxy = await between()
  const agent = someone()
  const { client, pass } = time()
  const { ear } = listen(agent, { baseUrl: proxy.url, ...client, sleep: async () => {} })
  await ear.on('socket')
  for (let nth = 1; nth <= 4; nth += 1) {
    await tell(agent, `message ${nth}`)
    await ear.heard(`message ${nth}`)
    // In two steps, since silence of more than 25 seconds breaks it too.
    pass(20)
    await tell(agent, `more ${nth}`)
    await ear.heard(`more ${nth}`)
    pass(15)
    proxy.cut()
    await asks(proxy, 'socket', nth + 1)
  }
  await tell(agent, 'the last')
  await ear.heard('the last')
  expect(ear.transports).toEqual(['socket'])
})

test('two heartbeats and a half without a sound, and a half-open connection is replaced', async () => {
  const proxy = await between()
  const agent = someone()
  const { client, pass } = time()
  const { ear } = listen(agent, { baseUrl: proxy.url, ...client })
  await tell(agent, 'before')
  await ear.heard('before')
  proxy.freeze()
  await tell(agent, 'into the void')
  await expect.poll(() => offers(agent)).toBe(1)
  proxy.thaw()
  pass(20)
  expect(times(proxy, 'socket')).toBe(1)
  pass(6)
  await asks(proxy, 'socket', 2)
  bridge.clock.advance(61)
  await ear.heard('into the void')
})

test('after a sleep of the machine the connection is replaced, though nothing says that it broke', async () => {
  const proxy = await between()
  const agent = someone()
  const { ear } = listen(agent, { baseUrl: proxy.url, clock: bridge.clock })
  await tell(agent, 'before')
  await ear.heard('before')
  // Time went on for both; the monotonic clock of the client did not run meanwhile.
  bridge.clock.advance(4)
  await tell(agent, 'awake')
  await ear.heard('awake')
  expect(times(proxy, 'socket')).toBe(1)
  bridge.clock.advance(600)
  await asks(proxy, 'socket', 2)
  await tell(agent, 'after')
  await ear.heard('after')
  expect(ear.connection).toEqual([])
})

test('a poll that was open when the machine slept is replaced as well', async () => {
  const proxy = await between()
  const agent = someone()
  const { ear } = listen(agent, { baseUrl: proxy.url, clock: bridge.clock, transports: ['long-poll'] })
  await asks(proxy, 'inbox', 1)
  bridge.clock.advance(600)
  await asks(proxy, 'inbox', 2)
  await tell(agent, 'after')
  await ear.heard('after')
})

test('a clock that is set wrong while listening is corrected, once for each opening', async () => {
  const proxy = await between()
  const agent = someone()
  let aheadMs = 0
  const sessions = sessionsOf(agent)
  const { ear } = listen(agent, {
    baseUrl: proxy.url,
    sessions,
    clock: () => new Date(bridge.clock().getTime() + aheadMs),
  })
  await ear.on('socket')
  aheadMs = 3_600_000
  // One opening is refused for its time, the next one carries the node's.
  await asks(proxy, 'socket', 3)
  await tell(agent, 'in time')
  await ear.heard('in time')
  expect(Math.abs(sessions.stored.clock_offset_ms + aheadMs)).toBeLessThan(5000)
})

test('a clock that no correction helps ends it with clock_skew', async () => {
  const proxy = await between()
  const agent = someone()
  let stepMs = 0
  let aheadMs = 0
  const { ear } = listen(agent, {
    baseUrl: proxy.url,
    clock: () => {
      aheadMs += stepMs
      return new Date(bridge.clock().getTime() + aheadMs)
    },
  })
  await ear.on('socket')
  stepMs = 3_600_000
  expect(await ear.ended).toMatchObject({ code: 'clock_skew', status: 401 })
  expect(times(proxy, 'socket')).toBe(3)
})

test('a third wait of the session is waited for', async () => {
  const agent = someone()
  const others = [openSocket(agent), openSocket(agent)]
  for (const other of others) await other.take('ready')
  const refused = Promise.withResolvers<number>()
  const freed = Promise.withResolvers<void>()
  const { ear } = listen(agent, {
    sleep: async (ms) => {
      refused.resolve(ms)
      await freed.promise
    },
  })
  undo.push(async () => freed.resolve())
  expect(await refused.promise).toBeGreaterThanOrEqual(1000)
  others[0]?.close()
  await others[0]?.ended
  await expect.poll(() => openWaits(agent), { timeout: 10_000 }).toBe(1)
  freed.resolve()
  await ear.on('socket')
  others[1]?.close()
})

/** Of two waits that a session may hold, those that are taken: a poll that does not wait is never refused. */
async function openWaits(agent: TestAgent): Promise<number> {
  const poll = await agent.call({ target: '/api/v1/inbox?wait_seconds=1' })
  return poll.status === 429 ? 2 : 1
}

test('a node that is gone is tried with growing pauses up to fifteen seconds, and told once', async () => {
  const proxy = await startBetween(bridge.server.port)
  const agent = someone()
  const pauses: number[] = []
  const enough = Promise.withResolvers<void>()
  const { ear } = listen(agent, {
    baseUrl: proxy.url,
    sleep: async (ms, signal) => {
      pauses.push(ms)
      if (pauses.length < 10) return
      enough.resolve()
      await new Promise((_resolve, reject) => signal?.addEventListener('abort', reject))
    },
    // Jitter is drawn from four bytes; nonces stay what they are.
    random: (bytes) => (bytes === 4 ? Buffer.alloc(4, 255) : randomBytes(bytes)),
  })
  await ear.on('socket')
  await proxy.close()
  await enough.promise
  expect(pauses.map(Math.round)).toEqual([500, 1000, 2000, 4000, 8000, ...Array(5).fill(15_000)])
  expect(ear.connection).toEqual([expect.stringContaining('ECONNREFUSED')])
  expect(times(proxy, 'socket')).toBe(1)
})

test.each(['socket', 'sse', 'long-poll'] as const)(
  'an abort closes every connection of %s',
  async (transport) => {
    const proxy = await between()
    const agent = someone()
    const { ear, client } = listen(agent, { baseUrl: proxy.url, transports: [transport] })
    await tell(agent, 'here')
    await ear.heard('here')
    await ear.stop()
    await client.close()
    await expect.poll(() => proxy.open).toBe(0)
  },
)

test('closing the Bridge ends listening too', async () => {
  const proxy = await between()
  const agent = someone()
  const { ear, client } = listen(agent, { baseUrl: proxy.url })
  await ear.on('socket')
  await client.close()
  expect(await ear.ended).toMatchObject({ code: 'aborted' })
  await expect.poll(() => proxy.open).toBe(0)
})

test('a forced transport that does not get through is an error, not an endless wait', async () => {
  const proxy = await between({ upgrades: 'answered' })
  const agent = someone()
  const { ear } = listen(agent, { baseUrl: proxy.url, transports: ['socket'] })
  expect(await ear.ended).toMatchObject({ code: 'bad_response' })
})

test('a fetch whose answers have no body leads to long-polls', async () => {
  const agent = someone()
  const asked: string[] = []
  const { ear } = listen(agent, {
    transports: ['sse', 'long-poll'],
    clock: bridge.clock,
    fetch: async (url, init) => {
      asked.push(new URL(url).pathname)
      const answer = await fetch(url, init)
      return { status: answer.status, headers: answer.headers, text: () => answer.text() }
    },
  })
  await expect.poll(() => asked).toEqual(['/api/v1/bootstrap', '/api/v1/events', '/api/v1/inbox'])
  await tell(agent, 'by poll')
  await ear.heard('by poll')
  expect(ear.transports).toEqual(['long-poll'])
})
