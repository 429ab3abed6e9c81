/**
 * Limits on the unanswered requests and unread answers of one connection; and the API description, which is
 * built once.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { signedText } from '../../support/raw-client.ts'
import { type Served, watchServed } from '../../support/served.ts'
import { openStore } from '../../support/test-store.ts'

let bridge: TestBridge
let served: Served
beforeAll(async () => {
  bridge = await startBridge()
  served = watchServed()
})
afterAll(async () => {
  served.stop()
  await bridge.close()
})

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: bridge.example\r\n${more}\r\n`

async function open(): Promise<Socket> {
  const socket = connect(bridge.server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Resolves when the node has closed the connection, which a client that reads nothing does not notice. */
async function cut(socket: Socket): Promise<void> {
  const side = await served.of(socket)
  await expect.poll(() => side.destroyed).toBe(true)
}

/** Returns all data that arrived until the node closed the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume()
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

const answersIn = (text: string, status = 200): number => text.split(`HTTP/1.1 ${status}`).length - 1

describe('a connection whose client reads nothing', () => {
  test('is closed when more than 1 MiB of answers is unsent, for any pipelined requests', async () => {
    const socket = await open()
    socket.pause()
    const most = 90
    socket.write(get('/api/openapi').repeat(most))
    // Other clients are not delayed by this one.
    expect((await fetch(`${bridge.url}/api/health`)).status).toBe(200)
    await cut(socket)
    expect(answersIn(await untilClosed(socket))).toBeLessThan(most)
  })

  test('is closed in the same way with credentials', async () => {
    const { ada } = bridge
    const socket = await open()
    socket.pause()
    const request = () => signedText(ada, { target: '/api/v1/inbox' }, 'keep-alive')
    socket.write(Array.from({ length: limits.pipelinedRequests + 1 }, request).join(''))
    expect(answersIn(await untilClosed(socket))).toBeLessThanOrEqual(limits.pipelinedRequests)
  })

  test('makes the node compute only the answers that fit, not all that were requested', async () => {
    const { ada, ben, data } = bridge
    const conversation = await ada.conversationWith(ben.id)
    for (let n = 0; n < 18; n += 1) await ada.send(conversation, ben.id, 'm'.repeat(55_000))
    const nonces = openStore(data)
    onTestFinished(() => void nonces.close())
    const spent = () => nonces.prepare('SELECT count(*) FROM nonces').pluck().get() as number
    const before = spent()
    const socket = await open()
    socket.pause()
    const asked = 80
    const target = `/api/v1/conversations/${conversation}/messages?after_sequence=0&limit=100`
    const request = () => signedText(ben, { target }, 'keep-alive')
    socket.write(Array.from({ length: asked }, request).join(''))
    await cut(socket)
    // This request runs after the work that the node still does for that connection.
    await ben.inbox('?limit=1')
    // The system buffers some megabytes of unread answers.
    expect(spent() - before).toBeLessThan(asked / 2)
  })
})

describe('a connection whose client pipelines requests', () => {
  test('gets every answer while the client reads and few requests wait', async () => {
    const socket = await open()
    const closing = get('/api/health', 'Connection: close\r\n')
    socket.write(get('/api/health').repeat(limits.pipelinedRequests - 1) + closing)
    expect(answersIn(await untilClosed(socket))).toBe(limits.pipelinedRequests)
  })

  test.each([
    ['/api/health', 200],
    ['/api/nowhere', 404],
    ['/%zz', 404],
    ['http://x:99999/', 404],
  ])('is closed when one request too many waits for its answer, also for %s', async (path, status) => {
    const socket = await open()
    socket.write(get(path).repeat(limits.pipelinedRequests + 1))
    expect(answersIn(await untilClosed(socket), status)).toBeLessThanOrEqual(limits.pipelinedRequests)
  })

  test('is closed when the client requests a stream behind other requests', async () => {
    const { ada } = bridge
    const socket = await open()
    const events = signedText(ada, { target: '/api/v1/events' })
    const poll = signedText(ada, { target: '/api/v1/inbox?wait_seconds=20' }, 'keep-alive')
    socket.write(poll + events)
    expect(answersIn(await untilClosed(socket))).toBe(0)
  })
})

describe('the file of the client package', () => {
  const file = async () => {
    const { file } = (await (await fetch(`${bridge.url}/client`)).json()) as { readonly file: string }
    const bytes = Buffer.from(await (await fetch(`${bridge.url}/client/${file}`)).arrayBuffer())
    return { target: `/client/${file}`, bytes }
  }

  test('reaches a client that requests it several times at once', async () => {
    const { target, bytes } = await file()
    const socket = await open()
    const closing = get(target, 'Connection: close\r\n')
    socket.write(get(target).repeat(3) + get('/api/health') + closing)
    const text = await untilClosed(socket)
    expect(text.split(bytes.toString('latin1')).length - 1).toBe(4)
    expect(answersIn(text)).toBe(5)
  })

  test('waits once in memory while the client does not read, and reaches it later each time', async () => {
    const { target, bytes } = await file()
    const socket = await open()
    socket.pause()
    const side = await served.of(socket)
    const asked = 40
    socket.write(get(target).repeat(asked - 1) + get(target, 'Connection: close\r\n'))
    // The system buffers some megabytes. Then bytes wait in the node, and no further answer begins.
    await expect.poll(() => side.writableLength).toBeGreaterThan(0)
    let before = -1
    await expect
      .poll(() => {
        const isStill = before === side.bytesWritten
        before = side.bytesWritten
        return isStill
      })
      .toBe(true)
    expect(side.writableLength).toBeLessThan(bytes.length + 1000)
    expect(side.bytesWritten).toBeLessThan(asked * bytes.length)
    expect(answersIn(await untilClosed(socket))).toBe(asked)
  })

  test('reaches a client that starts to read late', async () => {
    const { target, bytes } = await file()
    const socket = await open()
    socket.pause()
    const side = await served.of(socket)
    socket.write(get(target, 'Connection: close\r\n'))
    await expect.poll(() => side.bytesWritten).toBeGreaterThan(bytes.length)
    expect((await untilClosed(socket)).endsWith(bytes.toString('latin1'))).toBe(true)
  })
})

describe('the API description', () => {
  const read = async (headers: Record<string, string> = {}) => {
    const socket = await open()
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(get('/api/openapi', `${lines.join('')}Connection: close\r\n`))
    const text = await untilClosed(socket)
    const end = text.indexOf('\r\n\r\n')
    return { head: text.slice(0, end).toLowerCase(), body: Buffer.from(text.slice(end + 4), 'latin1') }
  }

  test('has the same bytes each time, with no-store', async () => {
    const [first, second] = [await read(), await read()]
    expect(first.body.equals(second.body)).toBe(true)
    expect(JSON.parse(first.body.toString())).toMatchObject({ openapi: '3.1.0' })
    expect(first.head).toMatch(/cache-control: no-store/)
    expect(first.head).not.toMatch(/content-encoding/)
  })

  test('is compressed for a client that accepts it, and not for one that refuses', async () => {
    const plain = await read()
    const gzip = await read({ 'accept-encoding': 'gzip' })
    expect(gzip.head).toMatch(/content-encoding: gzip/)
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true)
    const brotli = await read({ 'accept-encoding': 'gzip, br;q=0.9' })
    expect(brotli.head).toMatch(/content-encoding: br/)
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true)
    expect((await read({ 'accept-encoding': 'gzip;q=0, br;q=0' })).body.equals(plain.body)).toBe(true)
  })

  test('is not sent again to a client that sends its ETag', async () => {
    const url = `${bridge.url}/api/openapi`
    const first = await fetch(url)
    await first.text()
    const etag = first.headers.get('etag') ?? ''
    const same = await fetch(url, { headers: { 'if-none-match': etag } })
    expect([same.status, await same.text()]).toEqual([304, ''])
    const other = await fetch(url, { headers: { 'if-none-match': '"another"' } })
    expect([other.status, (await other.text()) === '']).toEqual([200, false])
  })
})
