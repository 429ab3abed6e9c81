/** The small fetch of short commands, over real sockets. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { httpFetch } from '../../cli/startup/http-fetch.ts'
import { bridgeAt } from '../support/bridges.ts'
import { type Answer, type FakeNode, startNode } from '../support/fake-node.ts'

const open: FakeNode[] = []
afterEach(async () => {
  for (const node of open.splice(0)) await node.close()
})

async function node(answer: Answer): Promise<FakeNode> {
  const started = await startNode(answer)
  open.push(started)
  return started
}

const never = new AbortController().signal
const get = { method: 'GET', headers: {}, signal: never, redirect: 'manual' } as const

test('method, headers and body are sent; status, headers and text are returned', async () => {
  const { url, heard } = await node((_heard, _nth, response) => {
    response.writeHead(418, { 'X-Request-Id': 'r-1', 'Set-Cookie': ['a=1', 'b=2'] }).end('tëapot')
  })
  const body = Buffer.from('{"a":"é"}')
  const response = await httpFetch()(`${url}/api/x?y=1`, {
    ...get,
    method: 'POST',
    headers: { 'x-a': '1' },
    body,
  })
  expect(response.status).toBe(418)
  expect(response.headers.get('x-request-ID')).toBe('r-1')
  expect(response.headers.get('set-cookie')).toBe('a=1, b=2')
  expect(response.headers.get('x-none')).toBeNull()
  expect(await response.text()).toBe('tëapot')
  expect(heard[0]).toMatchObject({ method: 'POST', url: '/api/x?y=1', body: '{"a":"é"}' })
  expect(heard[0]?.headers).toMatchObject({ 'x-a': '1', 'content-length': '10' })
  expect(heard[0]?.headers['transfer-encoding']).toBeUndefined()
})

test('a request without a body has none', async () => {
  const { url, heard } = await node((_heard, _nth, response) => void response.end('{}'))
  await (await httpFetch()(url, get)).text()
  expect(heard[0]?.headers['content-length']).toBeUndefined()
  expect(heard[0]?.headers['transfer-encoding']).toBeUndefined()
})

test('successive requests share a connection', async () => {
  const ports = new Set<number | undefined>()
  const { url } = await node((_heard, _nth, response) => {
    ports.add(response.socket?.remotePort)
    response.end('{}')
  })
  const fetch = httpFetch()
  for (let request = 0; request < 3; request += 1) await (await fetch(url, get)).text()
  expect(ports.size).toBe(1)
})

test('a redirect is returned, not followed', async () => {
  const { url, heard } = await node((_heard, _nth, response) => {
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  expect((await httpFetch()(url, get)).status).toBe(302)
  expect(heard).toHaveLength(1)
})

test('an abort ends a request and the reading of its answer', async () => {
  const { url } = await node(() => {})
  const silent = new AbortController()
  const waiting = httpFetch()(url, { ...get, signal: silent.signal })
  silent.abort()
  await expect(waiting).rejects.toThrow()

  const reading = new AbortController()
  const half = await node((_heard, _nth, response) => void response.writeHead(200).write('half'))
  const response = await httpFetch()(half.url, { ...get, signal: reading.signal })
  const text = response.text()
  reading.abort()
  await expect(text).rejects.toThrow()
})

test('an answer that changes the protocol is refused', async () => {
  const { url } = await node((_heard, _nth, response) => {
    response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
  })
  const bridge = bridgeAt(url, { fetch: httpFetch() })
  await expect(bridge.peers.list()).rejects.toMatchObject({ name: 'LocalError', code: 'bad_response' })
})

test('an endless answer is refused as no answer of a bridge', async () => {
  const { url } = await node((_heard, _nth, response) => {
    response.writeHead(200)
    const write = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      if (!response.destroyed) response.once('drain', write)
    }
    write()
  })
  const bridge = bridgeAt(url, { fetch: httpFetch({ maxAnswerBytes: 1024 * 1024 }) })
  await expect(bridge.peers.list()).rejects.toMatchObject({ name: 'LocalError', code: 'bad_response' })
})

test('a server that is no node causes the same errors as with any fetch', async () => {
  const mail = createServer((socket) => socket.resume().end('220 mail.example ESMTP\r\n'))
  mail.listen(0, '127.0.0.1')
  await once(mail, 'listening')
  const { port } = mail.address() as { port: number }
  const at = (url: string) => bridgeAt(url, { fetch: httpFetch() }).peers.list()
  await expect(at(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'bad_response' })
  mail.close()
  await once(mail, 'close')
  await expect(at(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'unreachable' })
})
