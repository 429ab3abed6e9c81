/**
 * The inbox over a WebSocket.
 *
 * - The first frame authenticates. The URL and the upgrade request carry no credentials.
 * - The socket counts as open when the node sends `ready`, not when the upgrade succeeds: some proxies pass
 *   the upgrade but no frames.
 * - The node refuses with an `error` frame or in its answer to the upgrade. Both give the same errors.
 *
 * Spec §5 "WebSocket", §6; contract §6.
 */
import type { IncomingMessage } from 'node:http'
import type { WebSocket } from 'ws'
import { type AuthenticateFrame, closeCodes } from '../contract/agent/events.ts'
import { streams } from '../contract/agent/streams.ts'
import { failureOf, parseObject, readAnswer, refusalOf } from '../transport/answers.ts'
import { trusting } from '../transport/authorities.ts'
import { LocalError } from '../transport/failures.ts'
import type { Attempt } from './attempt.ts'
import type { Streaming } from './signed-stream.ts'
import { readStream, type StreamEvent, type StreamQueue } from './stream-queue.ts'

const request = { method: streams.socket.method, path: streams.socket.path }
/** Limit of one frame in bytes, larger than any frame that a node sends. */
const longestFrame = 16 * 1024 * 1024
const longestRefusal = 64 * 1024

export const socketStream = (
  streaming: Streaming,
  attempt: Attempt,
): AsyncGenerator<StreamEvent, void, undefined> =>
  readStream(attempt, request, (queue) =>
    streaming.withRecovery({ signal: queue.signal }, () => connect(streaming, queue)),
  )

/**
 * Resolves when the node sends `ready`. Later frames and failures go to the queue.
 *
 * @throws BridgeError, LocalError of a failure before `ready`.
 */
async function connect(streaming: Streaming, queue: StreamQueue): Promise<void> {
  const { WebSocket } = await import('ws')
  await streaming.ready({ signal: queue.signal })
  const trust = await trusting(streaming.ca)
  if (queue.signal.aborted) return
  const { userAgent } = streaming
  const socket = new WebSocket(streaming.socketUrl, {
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: longestFrame,
    headers: userAgent === undefined ? {} : { 'user-agent': userAgent },
    ...trust,
  })
  queue.useConnection({
    close: () => socket.terminate(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  })
  await whenReady(socket, queue, streaming)
}

function whenReady(socket: WebSocket, queue: StreamQueue, streaming: Streaming): Promise<void> {
  const ready = Promise.withResolvers<void>()
  let isReady = false
  const fail = (error: Error) => {
    if (isReady) queue.fail(error)
    ready.reject(error)
    socket.terminate()
  }
  const take = (frame: Record<string, unknown>) => {
    if (frame.type === 'error') return fail(refusalOf(request, frame.error))
    if (frame.type !== 'ready') return queue.accept(String(frame.type), frame)
    isReady = true
    queue.opened()
    ready.resolve()
  }
  socket.on('error', (error) => fail(failureOf(error, { ...request, at: streaming.at }, undefined)))
  socket.on('close', (code) => fail(closed(code)))
  socket.on('unexpected-response', (_request, response) => void refusedUpgrade(response).catch(fail))
  socket.on('open', () => {
    streaming
      .credentials()
      .then((headers) => socket.send(authenticate(headers)))
      .catch(fail)
  })
  socket.on('ping', () => queue.markAlive())
  socket.on('message', (data) => {
    queue.markAlive()
    const frame = parseObject(data.toString())
    if (frame === undefined) fail(unusable('a frame is not a JSON object'))
    else take(frame)
  })
  return ready.promise
}

const authenticate = (headers: Record<string, string>): string =>
  JSON.stringify({ type: 'authenticate', headers } satisfies AuthenticateFrame)

/** Throws the error for an upgrade that was answered as a plain request, by the node or by a proxy. */
async function refusedUpgrade(response: IncomingMessage): Promise<never> {
  const { statusCode: status = 0, headers } = response
  const text = async () => {
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > longestRefusal) break
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString()
  }
  const get = (name: string) => String(headers[name] ?? '') || null
  await readAnswer(request, [], { status, headers: { get }, text })
  throw unusable(`answered ${status} instead of an upgrade`)
}

const unusable = (why: string): LocalError =>
  new LocalError('bad_response', `${request.method} ${request.path}: ${why}`)

/** Error for a close without an `error` frame before it. */
function closed(code: number): Error {
  const refusal = { request_id: '' }
  if (code === closeCodes.restart) {
    return refusalOf(request, { ...refusal, error: 'unavailable', message: 'the node restarts' })
  }
  if (code === closeCodes.capacity) {
    return refusalOf(request, { ...refusal, error: 'capacity_reached', message: 'the node is full' })
  }
  const cause = `closed with ${code}`
  return new LocalError('unreachable', `${request.method} ${request.path}: the socket broke: ${cause}`, {
    cause,
  })
}
