/**
 * The node closes a connection whose response makes no progress; a slow client or a slow handler keeps its
 * connection. Contract §6.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { fastify } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useAnswerDeadline } from '../../server/http/answer-deadline.ts'

/** The kernel may take a megabyte from a slow client before the server sees that it can write. */
const stallMs = 1200
const size = 16 * 1024 * 1024
const app = fastify()
useAnswerDeadline(app, () => performance.now(), stallMs)
let closed: Promise<unknown> = Promise.resolve()
app.get('/large', async (request) => {
  // The client may cut this connection while bytes are on their way: an error there is no failure of the test.
  closed = new Promise((resolve) => request.raw.socket.once('close', resolve))
  return 'x'.repeat(size)
})
app.get('/late', async () => {
  await new Promise((resolve) => setTimeout(resolve, 3 * stallMs))
  return 'late'
})
app.get('/small', async () => 'small')

beforeAll(async () => {
  await app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => app.close())

function open(...paths: readonly string[]): Socket {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  return socket
}

/**
 * Reads until `done` is true of the end of the text and its length. To look at the whole text after each chunk would
 * take so long that the client itself would stall.
 */
async function until(
  socket: Socket,
  done: (end: string, length: number) => boolean,
  pauseMs = 0,
): Promise<string> {
  const chunks: string[] = []
  let end = ''
  let length = 0
  for await (const chunk of socket.setEncoding('latin1')) {
    chunks.push(String(chunk))
    length += String(chunk).length
    end = (end + String(chunk)).slice(-16)
    if (done(end, length)) break
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return chunks.join('')
}

test('the node closes a connection whose client reads nothing of the response', async () => {
  const socket = open('/large')
  socket.pause()
  await once(app.server, 'request')
  await closed
  socket.destroy()
})

test('the node closes a connection whose client reads the first of two responses and nothing of the second', async () => {
  const socket = open('/large', '/large')
  let left = size
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left <= 0) socket.pause()
  })
  await once(app.server, 'request')
  await closed
  expect(left).toBeLessThanOrEqual(0)
  socket.destroy()
})

test('a client that reads slowly receives the whole response', async () => {
  const began = performance.now()
  const text = await until(open('/large'), (_end, length) => length > size, 15)
  expect(text.length).toBeGreaterThan(size)
  expect(performance.now() - began).toBeGreaterThan(stallMs)
})

test('the time in which the node itself stalls does not count', async () => {
  const socket = open('/large')
  socket.pause()
  await once(app.server, 'request')
  await new Promise((resolve) => setTimeout(resolve, stallMs / 4))
  for (let stalls = 0; stalls < 3; stalls += 1) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * stallMs)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const text = await until(socket, (_end, length) => length > size)
  expect(text.length).toBeGreaterThan(size)
})

test.each(['/small', '/large'])('a response that starts late arrives, also behind %s', async (path) => {
  const text = await until(open(path, '/late'), (end) => end.endsWith('late'))
  expect(text.match(/200 OK/g)).toHaveLength(2)
})
