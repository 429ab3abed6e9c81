/** Proxies between an agent and its node that block some transports, and whose behaviour changes. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { closeCodes } from '../../../sdk/contract/agent/events.ts'
import type { TestAgent } from '../../support/agent.ts'
import { openSocket } from '../../support/streams.ts'
import { startBetween } from './between.ts'
import { asks, stage, times } from './stage.ts'

const node = stage(27)

test('without obstacles the client uses the socket and requests nothing else', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  const { ear } = node.listen(agent, { baseUrl: proxy.url })
  await node.tell(agent, 'hello')
  await ear.heard('hello')
  expect(ear.transports).toEqual(['socket'])
  expect([times(proxy, 'socket'), times(proxy, 'events'), times(proxy, 'inbox')]).toEqual([1, 0, 0])
})

test('if a proxy answers upgrades itself, the client tries once and then uses the event stream', async () => {
  const proxy = await node.between({ upgrades: 'answered' })
  const agent = node.someone()
  const { ear } = node.listen(agent, { baseUrl: proxy.url })
  await ear.on('sse')
  await node.tell(agent, 'by stream')
  await ear.heard('by stream')
  expect([times(proxy, 'socket'), ear.connection]).toEqual([1, []])
})

test('if a proxy resets upgrades, the client tries twice', async () => {
  const proxy = await node.between({ upgrades: 'reset' })
  const agent = node.someone()
  const { ear } = node.listen(agent, { baseUrl: proxy.url })
  await ear.on('sse')
  expect(times(proxy, 'socket')).toBe(2)
})

test('if the first frame reaches the node too late, twice in a row, the client uses the event stream', async () => {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  node.after(async () => {
    for (const socket of sockets.clients) socket.terminate()
    sockets.close()
    await once(sockets, 'close')
  })
  await once(sockets, 'listening')
  let upgrades = 0
  sockets.on('connection', (socket) => {
    upgrades += 1
    const error = { error: 'unauthenticated', message: 'too late', request_id: 'r-1' }
    socket.send(JSON.stringify({ type: 'error', error }))
    socket.close(closeCodes.authentication)
  })
  const baseUrl = `http://127.0.0.1:${(sockets.address() as AddressInfo).port}`
  const agent = node.someone()
  const { ear } = node.listen(agent, {
    baseUrl,
    fetch: (url, init) => fetch(url.replace(baseUrl, node.bridge.url), init),
  })
  await ear.on('sse')
  await node.tell(agent, 'by stream')
  await ear.heard('by stream')
  expect([upgrades, ear.connection]).toEqual([2, []])
})

test('if a proxy ignores upgrades, the client tries twice for ten seconds each', async () => {
  const proxy = await node.between({ upgrades: 'swallowed' })
  const agent = node.someone()
  const { client, pass } = node.time()
  const { ear } = node.listen(agent, { baseUrl: proxy.url, ...client })
  await asks(proxy, 'socket', 1)
  pass(11)
  await asks(proxy, 'socket', 2)
  pass(11)
  await ear.on('sse')
})

test('the client notices a proxy that holds streams back, and lists the held messages', async () => {
  const proxy = await node.between({ upgrades: 'answered', buffersStreams: true })
  const agent = node.someone()
  const { client, pass } = node.time()
  const { ear } = node.listen(agent, { baseUrl: proxy.url, ...client })
  await asks(proxy, 'events', 1)
  await node.tell(agent, 'held back')
  await expect.poll(() => node.offersOf(agent)).toBe(1)
  pass(11)
  await asks(proxy, 'events', 2)
  pass(11)
  await ear.heard('held back')
  await asks(proxy, 'inbox', 1)
  await node.tell(agent, 'by poll')
  await ear.heard('by poll')
  expect(ear.transports).toEqual(['long-poll'])
  expect(ear.messages.map(({ delivery }) => delivery.attempt)).toEqual([1, 1])
  node.bridge.clock.advance(61)
  await node.tell(agent, 'to wake the poll')
  const attempts = () =>
    ear.messages.filter(({ body }) => body === 'held back').map(({ delivery }) => delivery.attempt)
  await ear.until('to hear it again', () => attempts().length === 2)
  expect(attempts()).toEqual([1, 2])
})

test('the client reopens an event stream with a fresh proof when its twenty seconds have passed', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  const { ear } = node.listen(agent, { baseUrl: proxy.url, clock: node.bridge.clock, transports: ['sse'] })
  await node.tell(agent, 'in the first')
  await ear.heard('in the first')
  await expect.poll(() => times(proxy, 'events'), { interval: 200 }).toBe(2)
  await node.tell(agent, 'in the second')
  await ear.heard('in the second')
  expect([times(proxy, 'events'), ear.transports, ear.connection]).toEqual([2, ['sse'], []])
})

test('the client retries the socket automatically, with growing intervals while it fails', async () => {
  const proxy = await node.between({ upgrades: 'answered' })
  const agent = node.someone()
  const { client, pass } = node.time()
  const { ear } = node.listen(agent, { baseUrl: proxy.url, transports: ['socket', 'long-poll'], ...client })
  let told = 0
  /** Ends the poll, so that the client chooses its transport again. */
  const nextPoll = async () => {
    const polls = times(proxy, 'inbox')
    await node.tell(agent, `wake ${++told}`)
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
  // The next retry is after two minutes, not one.
  pass(61)
  await nextPoll()
  expect(times(proxy, 'socket')).toBe(2)
  pass(60)
  await nextPoll()
  expect(times(proxy, 'socket')).toBe(3)

  proxy.harm = {}
  pass(241)
  await node.tell(agent, 'last by poll')
  await ear.on('socket')
  await node.tell(agent, 'by socket')
  await ear.heard('by socket')
  expect(ear.transports).toEqual(['long-poll', 'socket'])
  expect(ear.connection).toEqual([])
  expect(ear.messages.map(({ delivery }) => delivery.attempt)).toEqual(ear.messages.map(() => 1))
})

test('a socket that breaks soon after it opened, twice in a row, is avoided for some time', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  const { ear } = node.listen(agent, { baseUrl: proxy.url })
  await ear.on('socket')
  proxy.cut()
  await asks(proxy, 'socket', 2)
  await node.tell(agent, 'over the second')
  await ear.heard('over the second')
  expect(ear.transports).toEqual(['socket'])
  proxy.cut()
  await ear.on('sse')
})

test('a socket that worked for half a minute is reopened however often it breaks', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  const { client, pass } = node.time()
  const { ear } = node.listen(agent, { baseUrl: proxy.url, ...client, sleep: async () => {} })
  await ear.on('socket')
  for (let nth = 1; nth <= 4; nth += 1) {
    await node.tell(agent, `message ${nth}`)
    await ear.heard(`message ${nth}`)
    // The time passes in two steps, because silence of more than 25 seconds also breaks it.
    pass(20)
    await node.tell(agent, `more ${nth}`)
    await ear.heard(`more ${nth}`)
    pass(15)
    proxy.cut()
    await asks(proxy, 'socket', nth + 1)
  }
  await node.tell(agent, 'the last')
  await ear.heard('the last')
  expect(ear.transports).toEqual(['socket'])
})

test('after two and a half heartbeat intervals without data the client replaces a half-open connection', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  const { client, pass } = node.time()
  const { ear } = node.listen(agent, { baseUrl: proxy.url, ...client })
  await node.tell(agent, 'before')
  await ear.heard('before')
  proxy.freeze()
  await node.tell(agent, 'into the void')
  await expect.poll(() => node.offersOf(agent)).toBe(1)
  proxy.thaw()
  pass(20)
  expect(times(proxy, 'socket')).toBe(1)
  pass(6)
  await asks(proxy, 'socket', 2)
  node.bridge.clock.advance(61)
  await ear.heard('into the void')
})

test('if a session already has two waits, the client waits for a free slot', async () => {
  const agent = node.someone()
  const others = [openSocket(agent), openSocket(agent)]
  for (const other of others) await other.take('ready')
  const refused = Promise.withResolvers<number>()
  const freed = Promise.withResolvers<void>()
  const { ear } = node.listen(agent, {
    sleep: async (ms) => {
      refused.resolve(ms)
      await freed.promise
    },
  })
  node.after(async () => freed.resolve())
  expect(await refused.promise).toBeGreaterThanOrEqual(1000)
  others[0]?.close()
  await others[0]?.ended
  await expect.poll(() => openWaits(agent)).toBe(1)
  freed.resolve()
  await ear.on('socket')
  others[1]?.close()
})

/** Counts the occupied slots of the two that a session has; a poll without a wait is never refused. */
async function openWaits(agent: TestAgent): Promise<number> {
  const poll = await agent.call({ target: '/api/v1/inbox?wait_seconds=1' })
  return poll.status === 429 ? 2 : 1
}

test('the client retries an unreachable node with pauses growing up to fifteen seconds, and reports it once', async () => {
  const proxy = await startBetween(node.bridge.server.port)
  const agent = node.someone()
  const pauses: number[] = []
  const enough = Promise.withResolvers<void>()
  const { ear } = node.listen(agent, {
    baseUrl: proxy.url,
    sleep: async (ms, signal) => {
      pauses.push(ms)
      if (pauses.length < 10) return
      enough.resolve()
      await new Promise((_resolve, reject) => signal?.addEventListener('abort', reject))
    },
    // Jitter uses four random bytes; nonces stay random.
    random: (bytes) => (bytes === 4 ? Buffer.alloc(4, 255) : randomBytes(bytes)),
  })
  await ear.on('socket')
  await proxy.close()
  await enough.promise
  expect(pauses.map(Math.round)).toEqual([500, 1000, 2000, 4000, 8000, ...Array(5).fill(15_000)])
  expect(ear.connection).toEqual([expect.stringContaining('ECONNREFUSED')])
  expect(times(proxy, 'socket')).toBe(1)
})

test('polls that broke after two seconds do not make the pauses longer', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  const { client, pass } = node.time()
  const pauses: number[] = []
  const { ear } = node.listen(agent, {
    ...{ baseUrl: proxy.url, transports: ['long-poll'], ...client },
    sleep: async (ms) => void pauses.push(ms),
    random: (bytes) => (bytes === 4 ? Buffer.alloc(4, 255) : randomBytes(bytes)),
  })
  await node.tell(agent, 'here')
  await ear.heard('here')
  for (const polls of [2, 3, 4]) {
    await asks(proxy, 'inbox', polls)
    pass(2)
    proxy.cut()
  }
  await asks(proxy, 'inbox', 5)
  expect(pauses.map(Math.round)).toEqual([500, 500, 500])
  expect(ear.connection).toEqual([])
})

test.each(['socket', 'sse', 'long-poll'] as const)(
  'an abort closes every connection of %s',
  async (transport) => {
    const proxy = await node.between()
    const agent = node.someone()
    const { ear, client } = node.listen(agent, { baseUrl: proxy.url, transports: [transport] })
    await node.tell(agent, 'here')
    await ear.heard('here')
    await ear.stop()
    await client.close()
    await expect.poll(() => proxy.open).toBe(0)
  },
)

test('closing the Bridge ends listening too', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  const { ear, client } = node.listen(agent, { baseUrl: proxy.url })
  await ear.on('socket')
  await client.close()
  expect(await ear.ended).toMatchObject({ code: 'aborted' })
  await expect.poll(() => proxy.open).toBe(0)
})

test('a forced transport that is blocked fails with an error instead of waiting endlessly', async () => {
  const proxy = await node.between({ upgrades: 'answered' })
  const agent = node.someone()
  const { ear } = node.listen(agent, { baseUrl: proxy.url, transports: ['socket'] })
  expect(await ear.ended).toMatchObject({ code: 'bad_response' })
})

test('with a fetch whose answers have no body the client uses long-polls', async () => {
  const agent = node.someone()
  const asked: string[] = []
  const { ear } = node.listen(agent, {
    transports: ['sse', 'long-poll'],
    clock: node.bridge.clock,
    fetch: async (url, init) => {
      asked.push(new URL(url).pathname)
      const answer = await fetch(url, init)
      return { status: answer.status, headers: answer.headers, text: () => answer.text() }
    },
  })
  await expect.poll(() => asked).toEqual(['/api/v1/bootstrap', '/api/v1/events', '/api/v1/inbox'])
  await node.tell(agent, 'by poll')
  await ear.heard('by poll')
  expect(ear.transports).toEqual(['long-poll'])
})
