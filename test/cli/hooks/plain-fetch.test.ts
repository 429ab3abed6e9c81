/** The fetch of a hook, with servers that write bytes of their own. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { plainFetch } from '../../../cli/hooks/plain-fetch.ts'
import { httpFetch } from '../../../cli/startup/http-fetch.ts'
import { bridgeAt } from '../../support/bridges.ts'
import { startNode } from '../../support/fake-node.ts'

const never = new AbortController().signal
const get = { method: 'GET', headers: {}, signal: never, redirect: 'manual' } as const

/** Starts a server that answers the head of each request, and returns its address. */
async function serving(answer: (socket: Socket, head: string) => unknown, host = '127.0.0.1') {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    let head = ''
    socket.on('data', (chunk) => {
      head += chunk
      if (head.includes('\r\n\r\n')) void answer(socket, head)
    })
  })
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Writes these bytes and leaves the connection open. */
const leavingOpen = (bytes: string) => serving((socket) => socket.write(bytes, 'latin1'))

const fallen = new Error('node:http took over')
const alone = () =>
  plainFetch(async () => async () => {
    throw fallen
  })
const head = (...fields: string[]) => ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n')

test('a response in the form of a node is read wherever its bytes are divided', async () => {
  const bytes = Buffer.from(`${head('X-A: 1', 'X-a:2 ', 'Content-Length: 6')}h\u00e9lloHTTP/1.1 500 No`)
  for (let at = 1; at < bytes.length; at += 1) {
    const url = await serving(async (socket) => {
      socket.setNoDelay().write(bytes.subarray(0, at))
      await turn()
      socket.write(bytes.subarray(at))
    })
    const response = await alone()(url, get)
    const { status, headers } = response
    const found = [status, headers.get('X-A'), headers.get('x-b'), await response.text()]
    expect(found).toEqual([200, '1, 2', null, 'h\u00e9llo'])
  }
})

test('refusals and empty bodies are read, of requests at once and one after the other', async () => {
  const url = await leavingOpen('HTTP/1.1 503 \r\ncontent-length:0\r\n\r\n')
  const fetch = alone()
  const ask = async () => {
    const response = await fetch(url, get)
    return [response.status, await response.text()]
  }
  const answer = [503, '']
  expect([...(await Promise.all([ask(), ask()])), await ask()]).toEqual([answer, answer, answer])
})

const chunked = head('Transfer-Encoding: chunked')

/** The connection stays open: only the bytes tell that this is another form. */
test.each([
  ['a line of another protocol', '220 mail.example ESMTP\r\n'],
  ['an alert of TLS', '\x15\x03\x03\x00\x02\x02\x46'],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}'],
  ['lines without a carriage return', `HTTP/1.1 200 OK\nContent-Length: 2\n\n{}${'x'.repeat(20_000)}`],
  ['an interim response', `HTTP/1.1 103 Early Hints\r\n\r\n${head('Content-Length: 2')}{}`],
  ['another protocol after 101', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a redirect', 'HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 2\r\n\r\n{}'],
  ['no length', `${head()}{}`],
  ['chunks', `${chunked}2\r\n{}\r\n0\r\n\r\n`],
  ['chunks and a length', `${head('Content-Length: 2', 'Transfer-Encoding: chunked')}{}`],
  ['two lengths', `${head('Content-Length: 2', 'Content-Length: 2')}{}`],
  ['a negative length', `${head('Content-Length: -2')}{}`],
  ['a length in words', `${head('Content-Length: two')}{}`],
  ['a length over 64 MiB', `${head(`Content-Length: ${64 * 1024 * 1024}`)}{}`],
  ['a space before a colon', `${head('Content-Length : 2')}{}`],
  ['a line without a colon', `${head('Content-Length: 2', 'nonsense')}{}`],
  ['a folded line', `${head('Content-Length: 2', ' more')}{}`],
  ['a null character', `${head('Content-Length: 2', 'X-A: \0')}{}`],
  ['a head without an end', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(20_000)}`],
  ['a long head', `${head(`X-A: ${'a'.repeat(20_000)}`, 'Content-Length: 2')}{}`],
])('a response with %s counts as lost at once, and node:http takes over', async (_what, bytes) => {
  const url = await leavingOpen(bytes)
  const fetch = alone()
  await expect(fetch(url, get)).rejects.toMatchObject({ code: 'ECONNRESET' })
  await expect(fetch(url, get)).rejects.toBe(fallen)
})

test.each([
  ['before the response', ''],
  ['within the head', 'HTTP/1.1 200 OK\r\nContent-Le'],
  ['within the body', `${head('Content-Length: 9')}hello`],
])('a connection that ends %s gives no response', async (_when, bytes) => {
  const url = await serving((socket) => socket.end(bytes))
  await expect(alone()(url, get)).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('a line of spaces costs no time', async () => {
  const url = await leavingOpen(`${head(`X-A: b${' '.repeat(16_000)}c`, 'Content-Length: 2')}{}`)
  const before = process.cpuUsage()
  expect(await (await alone()(url, get)).text()).toBe('{}')
  // With an expression that goes back for each space it was more than a second.
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(500)
})

test('a call whose response comes in chunks is signed again and answered over node:http', async () => {
  const page = { peers: [], has_more: false, next_after: null }
  const node = await startNode((_heard, _nth, response) => {
    response.writeHead(200, { 'transfer-encoding': 'chunked' }).end(JSON.stringify(page))
  })
  onTestFinished(() => node.close())
  const bridge = bridgeAt(node.url, { fetch: plainFetch(async () => httpFetch()), sleep: async () => {} })
  expect(await bridge.peers.list()).toEqual(page)
  const nonces = node.heard.map(({ headers }) => headers['x-bridge-nonce'])
  expect([nonces.length, new Set(nonces).size]).toEqual([2, 2])
})

test('a server that is no node causes the error of node:http', async () => {
  const bridge = bridgeAt(await leavingOpen('220 mail.example ESMTP\r\n'), {
    fetch: plainFetch(async () => httpFetch()),
    sleep: async () => {},
  })
  await expect(bridge.peers.list()).rejects.toMatchObject({ name: 'LocalError', code: 'bad_response' })
})

test('the request has its target, host, fields and body, and nothing that a line break could add', async () => {
  const heard: string[] = []
  const url = await serving((socket, request) => {
    heard.push(request)
    socket.end(head('Content-Length: 0'))
  })
  const fetch = alone()
  await fetch(`${url}/api/x?y=1`, { ...get, headers: { 'x-a': 'b' } })
  await fetch(`${url}/api/y`, { ...get, method: 'POST', body: Buffer.from('{}') })
  const host = url.slice('http://'.length)
  const lines = ['GET /api/x?y=1 HTTP/1.1', `host: ${host}`, 'x-a: b', 'connection: close', '', '']
  expect(heard[0]).toBe(lines.join('\r\n'))
  expect(heard[1]).toMatch(
    /^POST \/api\/y HTTP\/1\.1\r\n.*content-length: 2\r\nconnection: close\r\n\r\n\{\}$/s,
  )
  for (const headers of [{ 'x-a': 'b\r\nx-c: d' }, { 'x-a\r\nx-c': 'd' }, { 'x-a': 'b\nx-c: d' }])
    await expect(fetch(url, { ...get, headers })).rejects.toBe(fallen)
  expect(heard).toHaveLength(2)
})

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)

test.skipIf(!hasIpv6)('an address of IPv6 is reached', async () => {
  const url = await serving((socket) => socket.end(head('Content-Length: 0')), '::1')
  expect((await alone()(url, get)).status).toBe(200)
})

test('an abort before the request opens no connection, and one within the response ends it', async () => {
  const closed = Promise.withResolvers<void>()
  let opened = 0
  const url = await serving((socket) => {
    opened += 1
    socket.on('close', () => closed.resolve())
    socket.write(`${head('Content-Length: 9')}half`)
  })
  const late = new Error('late')
  await expect(alone()(url, { ...get, signal: AbortSignal.abort(late) })).rejects.toBe(late)
  const reading = new AbortController()
  const asked = alone()(url, { ...get, signal: reading.signal })
  await expect.poll(() => opened).toBe(1)
  reading.abort(late)
  await expect(asked).rejects.toBe(late)
  await closed.promise
})
