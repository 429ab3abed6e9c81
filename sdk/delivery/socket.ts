/**
 * The inbox over a WebSocket.
 *
 * - The first frame authenticates; credentials are never in the URL, nor in the upgrade.
 * - It is open when the node says `ready`, not when the upgrade succeeds: some proxies let an upgrade pass and no frame.
 * - A refusal comes as an `error` frame, or as the answer to the upgrade; both are the same errors.
 *
 * Spec §5 "WebSocket", §6; contract §6.
 */
import type { IncomingMessage } from 'node:http'
import type { WebSocket } from 'ws'
import { streams } from '../contract/agent/streams.ts'
import { type AuthenticateFrame, closeCodes } from '../contract/events.ts'
import { failureOf, parseObject, readAnswer, refusalOf } from '../transport/answers.ts'
import { LocalError } from '../transport/failures.ts'
import type { Attempt } from './attempt.ts'
import { overStream, type StreamEvent, type StreamQueue } from './stream-queue.ts'
import type { Streaming } from './streaming.ts'

const asked = { method: streams.socket.method, path: streams.socket.path }
/** More than the longest frame that a node sends. */
const longestFrame = 16 * 1024 * 1024
const longestRefusal = 64 * 1024

export const socketStream = (
  streaming: Streaming,
  attempt: Attempt,
): AsyncGenerator<StreamEvent, void, undefined> =>
  overStream(attempt, asked, (line) =>
    streaming.mending({ signal: line.signal }, () => connect(streaming, line)),
  )

/** Resolves when the node says `ready`; what comes then is the line's. @throws what refuses or fails before. */
async function connect(streaming: Streaming, line: StreamQueue): Promise<void> {
  const { WebSocket } = await import('ws')
  await streaming.ready({ signal: line.signal })
  if (line.signal.aborted) return
  const socket = new WebSocket(streaming.socketUrl, {
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: longestFrame,
    headers: { 'user-agent': streaming.userAgent },
  })
  line.carriedBy({
    close: () => socket.terminate(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  })
  await whenReady(socket, line, streaming)
}

function whenReady(socket: WebSocket, line: StreamQueue, streaming: Streaming): Promise<void> {
  const ready = Promise.withResolvers<void>()
  let isReady = false
  const fail = (error: Error) => {
    if (isReady) line.fail(error)
    ready.reject(error)
    socket.terminate()
  }
  const take = (frame: Record<string, unknown>) => {
    if (frame.type === 'error') return fail(refusalOf(asked, frame.error))
    if (frame.type !== 'ready') return line.hear(String(frame.type), frame)
    isReady = true
    line.opened()
    ready.resolve()
  }
  socket.on('error', (error) => fail(failureOf(error, { ...asked, at: streaming.at }, undefined)))
  socket.on('close', (code) => fail(closed(code)))
  socket.on('unexpected-response', (_request, response) => void refusedUpgrade(response).catch(fail))
  socket.on('open', () => {
    streaming
      .credentials()
      .then((headers) => socket.send(authenticate(headers)))
      .catch(fail)
  })
  socket.on('ping', () => line.heard())
  socket.on('message', (data) => {
    line.heard()
    const frame = parseObject(data.toString())
    if (frame === undefined) fail(unusable('a frame is not a JSON object'))
    else take(frame)
  })
  return ready.promise
}

const authenticate = (headers: Record<string, string>): string =>
  JSON.stringify({ type: 'authenticate', headers } satisfies AuthenticateFrame)

/** Something answered the upgrade as a request: the node with an error, or whatever stands between. Never returns well. */
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
  await readAnswer(asked, [], { status, headers: { get }, text })
  throw unusable(`answered ${status} instead of an upgrade`)
}

const unusable = (why: string): LocalError =>
  new LocalError('bad_response', `${asked.method} ${asked.path}: ${why}`)

/** A close without an `error` frame before it. */
function closed(code: number): Error {
  const refusal = { request_id: '' }
  if (code === closeCodes.restart) {
    return refusalOf(asked, { ...refusal, error: 'unavailable', message: 'the node restarts' })
  }
  if (code === closeCodes.capacity) {
    return refusalOf(asked, { ...refusal, error: 'capacity_reached', message: 'the node is full' })
  }
  const cause = `closed with ${code}`
  return new LocalError('unreachable', `${asked.method} ${asked.path}: the socket broke: ${cause}`, { cause })
}
