/**
 * An unauthenticated socket holds a slot for five seconds at most, and one address holds at most 32 of the
 * node's 512 slots.
 *
 * Addresses are loopback addresses, or those that a listed proxy reports. Each test moves the time of the
 * sockets itself, so every socket stays open while the others are opened. `delivery/socket.test.ts` shows the
 * five seconds in real time. Contract §6.
 */
import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { limits } from '../../../sdk/contract/limits.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { leaveAll, RawConnection, requestText } from '../../support/raw-client.ts'
import { openSocket } from '../../support/streams.ts'

const proxy = '127.0.0.2'
const each = limits.strangerSocketsPerAddress
let bridge: TestBridge
const opened = new Set<WebSocket>()

beforeAll(async () => {
  bridge = await startBridge({ settings: { trusted_proxy: proxy } })
})
afterAll(() => bridge.close())
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

interface Refusal {
  readonly error: string
  readonly message: string
  readonly details: { readonly limit: string }
}

interface From {
  readonly localAddress: string
  readonly forwarded?: string
}

/** Opens a socket that stays silent; returns 101, or the reason of the refusal. */
function knock({ localAddress, forwarded }: From): Promise<string> {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  const url = `${bridge.url.replace('http', 'ws')}/api/v1/socket`
  const socket = new WebSocket(url, { localAddress, headers })
  socket.on('error', () => {})
  return new Promise((resolve) => {
    socket.once('open', () => {
      opened.add(socket)
      socket.once('close', () => opened.delete(socket))
      resolve('101')
    })
    socket.once('unexpected-response', async (_request, response) => {
      const [body] = (await once(response, 'data')) as [Buffer]
      const { error, details, message } = JSON.parse(body.toString()) as Refusal
      expect(response.headers['retry-after']).toBe(String(limits.socketAuthSeconds))
      resolve(`${response.statusCode} ${error} ${details.limit}: ${message}`)
      socket.terminate()
    })
  })
}

const knockOften = (from: From, times: number): Promise<string[]> =>
  Promise.all(Array.from({ length: times }, () => knock(from)))

async function leave(): Promise<void> {
  const ends = [...opened].map((socket) => once(socket, 'close'))
  for (const socket of opened) socket.terminate()
  await Promise.all(ends)
}

const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

const addressFull =
  '503 capacity_reached sockets: This address has too many sockets that have not authenticated.'
const nodeFull = '503 capacity_reached sockets: The node holds too many sockets that have not authenticated.'

test('one address has 32 slots, whatever it claims, and does not block other addresses', async () => {
  const silent = { localAddress: '127.0.0.3' }
  const all = Array.from({ length: each }, () => '101')
  expect(await knockOften(silent, each)).toEqual(all)
  expect(await knock(silent)).toBe(addressFull)
  expect(await knock({ ...silent, forwarded: '203.0.113.9' })).toBe(addressFull)
  expect(await knock({ localAddress: '127.0.0.4' })).toBe('101')
  const listener = openSocket(bridge.ada)
  await listener.opened
  listener.close()
  await leave()
  await expect.poll(() => knock(silent)).toBe('101')
  await leave()
})

test('behind a listed proxy each client has its own slots, and an IPv6 network counts as one client', async () => {
  const behind = (forwarded: string) => ({ localAddress: proxy, forwarded })
  await knockOften(behind('203.0.113.1'), each)
  expect(await knock(behind('203.0.113.1'))).toBe(addressFull)
  expect(await knock(behind('203.0.113.2'))).toBe('101')
  await knockOften(behind('2001:db8::1'), each)
  expect(await knock(behind('2001:db8::2'))).toBe(addressFull)
  expect(await knock(behind('2001:db8:0:1::1'))).toBe('101')
  await leave()
})

test('an authenticated socket does not use a slot of unauthenticated ones', async () => {
  const listeners = await Promise.all(
    Array.from({ length: each }, async (_, index) => {
      const listener = openSocket(await bridge.agent(`listener ${index}`))
      await listener.opened
      return listener
    }),
  )
  expect(await knock({ localAddress: '127.0.0.1' })).toBe('101')
  for (const listener of listeners) listener.close()
  await leave()
})

test('a node has 512 slots, all free again five seconds later', async () => {
  const addresses = limits.strangerSockets / each
  for (let index = 0; index < addresses; index += 1) {
    await knockOften({ localAddress: `127.0.1.${index}` }, each)
  }
  const another = { localAddress: '127.0.2.1' }
  expect(await knock(another)).toBe(nodeFull)
  vi.advanceTimersByTime(limits.socketAuthSeconds * 1000 - 1)
  expect(await knock(another)).toBe(nodeFull)
  expect(opened.size).toBe(limits.strangerSockets)
  // Other transports have separate limits.
  expect((await bridge.ben.call({ target: '/api/v1/inbox' })).status).toBe(200)
  vi.advanceTimersByTime(1)
  await expect.poll(() => opened.size).toBe(0)
  expect(await knock(another)).toBe('101')
  await leave()
})

test('a client that ignores the close frame frees its slot after five seconds too', async () => {
  onTestFinished(leaveAll)
  const localAddress = '127.0.0.5'
  const target = '/api/v1/socket'
  const headers = Object.entries(upgrade)
  const mute = Array.from({ length: each }, () =>
    new RawConnection(bridge.url, localAddress).send(requestText({ target, headers })),
  )
  await Promise.all(mute.map((connection) => connection.until('HTTP/1.1 101 ')))
  vi.advanceTimersByTime(limits.socketAuthSeconds * 1000 - 1)
  expect(await knock({ localAddress })).toBe(addressFull)
  vi.advanceTimersByTime(1)
  expect(await knock({ localAddress })).toBe('101')
  await leave()
})

test('a refused upgrade does not keep its connection', async () => {
  const silent = { localAddress: '127.0.0.3' }
  await knockOften(silent, each)
  const call = request(`${bridge.url}/api/v1/socket`, {
    localAddress: silent.localAddress,
    headers: upgrade,
    agent: false,
  })
  const [response] = (await once(call.end(), 'response')) as [{ resume(): void; headers: object }]
  response.resume()
  expect(response.headers).toMatchObject({ connection: 'close' })
  await once(call, 'close')
  await leave()
})
