/** The fetch of a hook, with servers that write bytes of their own: RFC 9112, sections 6 and 7. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { plainFetch } from '../../../cli/hooks/plain-fetch.ts'

const get = {
  method: 'GET',
  headers: {},
  signal: new AbortController().signal,
  redirect: 'manual',
} as const

/** Starts a server that answers the head of each request, and returns its port. */
async function serving(
  answer: (socket: Socket, head: string) => unknown,
  host = '127.0.0.1',
): Promise<number> {
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
  return (server.address() as AddressInfo).port
}

const answering = (bytes: string) => serving((socket) => socket.end(bytes, 'latin1'))
const textFrom = async (port: number) => (await plainFetch()(`http://127.0.0.1:${port}/x`, get)).text()
const head = (...fields: string[]) => ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n')
const chunked = head('Transfer-Encoding: chunked')

test.each([
  ['with its length', `${head('Content-Length: 5')}hello`, 'hello'],
  ['until the connection ends', `${head()}hello`, 'hello'],
  ['of no bytes', head('content-length:0'), ''],
  ['in chunks', `${chunked}3\r\nhel\r\n2;name=value\r\nlo\r\n0\r\n\r\n`, 'hello'],
  ['in chunks with trailers', `${chunked}5\r\nhello\r\n000\r\nExpires: 0\r\n\r\n`, 'hello'],
  ['followed by other bytes', `${head('Content-Length: 5')}helloHTTP/1.1 500 No`, 'hello'],
  ['of HTTP/1.0 without a reason', 'HTTP/1.0 200\r\n\r\nhello', 'hello'],
])('reads a body %s', async (_which, bytes, text) => {
  expect(await textFrom(await answering(bytes))).toBe(text)
})

test('a response is read wherever its bytes are divided', async () => {
  const bytes = `${head('X-A: 1', 'X-a:2 ', 'Content-Length: 5')}hello`
  for (let at = 1; at < bytes.length; at += 1) {
    const port = await serving(async (socket) => {
      socket.setNoDelay().write(bytes.slice(0, at))
      await turn()
      socket.write(bytes.slice(at))
    })
    // The server leaves the connection open: the length alone tells the end.
    const response = await plainFetch()(`http://127.0.0.1:${port}`, get)
    expect([response.headers.get('x-a'), await response.text()]).toEqual(['1, 2', 'hello'])
  }
})

test.each([
  ['before the response', ''],
  ['within the head', 'HTTP/1.1 200 OK\r\nContent-Le'],
  ['within the body', `${head('Content-Length: 9')}hello`],
  ['within a chunk', `${chunked}9\r\nhello`],
  ['before the last chunk', `${chunked}5\r\nhello\r\n`],
  ['within the size of a chunk', `${chunked}5`],
])('a connection that ends %s gives no response', async (_when, bytes) => {
  await expect(textFrom(await answering(bytes))).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test.each([
  ['another protocol', '220 mail.example ESMTP\r\n'],
  ['another protocol with an empty line', 'SSH-2.0-OpenSSH_9\r\n\r\n'],
  ['an interim response', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ['a length that is none', `${head('Content-Length: -5')}hello`],
  ['two lengths', `${head('Content-Length: 5', 'Content-Length: 6')}hello!`],
  ['a size that is none', `${chunked}hello\r\n`],
  ['a size without bound', `${chunked}ffffffffffff\r\nhello`],
  ['a head without end', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(70_000)}`],
])('%s is not HTTP', async (_what, bytes) => {
  await expect(textFrom(await answering(bytes))).rejects.toMatchObject({
    code: expect.stringMatching(/^HPE_/),
  })
})

test('a length too long is refused before its bytes arrive', async () => {
  const port = await serving((socket) => socket.write(`${head('Content-Length: 9999')}hello`))
  const fetch = plainFetch({ maxAnswerBytes: 1000 })
  await expect(fetch(`http://127.0.0.1:${port}`, get)).rejects.toMatchObject({ code: 'HPE_INVALID_RESPONSE' })
})

test('the request has the host, the target and the fields, and nothing that a line break could add', async () => {
  const heard: string[] = []
  const port = await serving((socket, request) => {
    heard.push(request)
    socket.end(head('Content-Length: 0'))
  })
  await plainFetch()(`http://127.0.0.1:${port}/api/x?y=1`, { ...get, headers: { 'x-a': 'b' } })
  const lines = ['GET /api/x?y=1 HTTP/1.1', `host: 127.0.0.1:${port}`, 'x-a: b', 'connection: close', '', '']
  expect(heard).toEqual([lines.join('\r\n')])
  for (const headers of [{ 'x-a': 'b\r\nx-c: d' }, { 'x-a\r\nx-c': 'd' }, { 'x-a': 'b\nx-c: d' }]) {
    const asked = plainFetch()(`http://127.0.0.1:${port}/`, { ...get, headers })
    await expect(asked).rejects.toThrow('a header has an invalid character')
  }
  expect(heard).toHaveLength(1)
})

test('an address of IPv6 is reached', async () => {
  const port = await serving((socket) => socket.end(head('Content-Length: 0')), '::1')
  expect((await plainFetch()(`http://[::1]:${port}/`, get)).status).toBe(200)
})

test('a request that was aborted before opens no connection', async () => {
  let opened = 0
  const port = await serving((socket) => {
    opened += 1
    socket.end(head('Content-Length: 0'))
  })
  const signal = AbortSignal.abort(new Error('late'))
  await expect(plainFetch()(`http://127.0.0.1:${port}/`, { ...get, signal })).rejects.toThrow('late')
  await textFrom(port)
  expect(opened).toBe(1)
})
