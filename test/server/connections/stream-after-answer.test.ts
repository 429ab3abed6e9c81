/**
 * A request for a stream that arrives when the earlier answer has ended, but is not sent completely, is served after
 * that answer. Over TLS the node learns late that an answer was sent, so its client may be that fast.
 */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { fastify } from 'fastify'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { streamedAnswer, useUnsentBound } from '../../../server/http/connection-bounds.ts'

/** More than the system takes from the node while the client does not read. */
const size = 16 * 1024 * 1024
const app = fastify()
useUnsentBound(app)
let answers: ServerResponse[] = []
app.get('/large', async (_request, { raw }) => {
  answers.push(raw)
  return 'x'.repeat(size)
})
app.get('/large-stream', { config: streamedAnswer }, async (_request, reply) => {
  answers.push(reply.raw)
  reply.hijack().raw.end('x'.repeat(size))
})
app.get('/stream', { config: streamedAnswer }, async (_request, reply) => {
  reply.hijack().raw.setHeader('connection', 'close').end('streamed')
})

beforeAll(async () => {
  await app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => app.close())

test.each(['/large', '/large-stream'])('a stream is served after %s, which has ended', async (path) => {
  answers = []
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {}).pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  await expect.poll(() => answers[0]?.writableEnded).toBe(true)
  const arrived = once(app.server, 'request')
  socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n')
  await arrived
  expect(answers[0]?.writableFinished).toBe(false)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume()
  await once(socket, 'close')
  const text = Buffer.concat(chunks).toString('latin1')
  expect(text.length).toBeGreaterThan(size)
  expect(text.slice(-8)).toBe('streamed')
})
