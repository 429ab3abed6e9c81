/**
 * The inbox over a WebSocket.
 *
 * - Credentials travel in the first frame, within five seconds: the signed headers of `GET /api/v1/events`.
 * - Afterwards the client may send `ping` and nothing else.
 * - A page of another origin may not open it; any other path of an upgrade is refused and its connection ended.
 *
 * Spec §5 "WebSocket", §6; contract §6.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { closeCodes, type ServerFrame } from '../../sdk/contract/events.ts'
import { emptySha256 } from '../../sdk/contract/helper/manifest.ts'
import { contract } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import { Fault } from '../fault.ts'
import { errorBody, toFault } from '../http/faults.ts'
import { checkFraming } from '../http/framing.ts'
import { parseStrictJson } from '../http/strict-json.ts'
import { spendNonce } from '../identity/admission.ts'
import { proveBody, proveHead, requireHeaders } from '../identity/proof.ts'
import { stream } from '../route.ts'
import { readFrame } from './frames.ts'
import { InboxStream, type Outlet, type StreamEnd } from './inbox-stream.ts'

const { path } = contract.streams.socket
/** Connections that have not said who they are: each costs memory for up to five seconds. */
const unauthenticatedAtOnce = 512
/** Pings go out every ten seconds, so an answer that is older than this means that the connection is dead. */
const pongWithinMs = 18_000

export function useSocket(app: FastifyInstance, context: Context): void {
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: limits.socketFrameBytes,
  })
  const strangers = new Set<WebSocket>()
  app.server.on('upgrade', (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on('error', () => connection.destroy())
    const requestId = context.random(9).toString('base64url')
    const refusal = refuse(context, request, strangers.size)
    logUpgrade(context, requestId, refusal)
    if (refusal !== undefined) return endUpgrade(connection, refusal, requestId)
    const peer = { address: context.clientAddress(request), requestId }
    sockets.once('headers', (lines) => lines.push(...commonHeaders(requestId)))
    sockets.handleUpgrade(request, connection, head, (socket) => {
      strangers.add(socket)
      void serve(context, socket, peer).finally(() => strangers.delete(socket))
    })
    // A handshake that was refused has sent no headers of ours.
    sockets.removeAllListeners('headers')
  })
  context.stopping.addEventListener('abort', () => {
    for (const socket of strangers) endSocket(socket, 'restart', '')
  })
}

/** An upgrade is no request of Fastify's: its line is ours to write. */
function logUpgrade({ log, meters }: Context, requestId: string, refusal: Fault | undefined): void {
  const status = refusal?.status ?? 101
  const route = refusal?.code === 'not_found' ? 'none' : path
  log.info({ request_id: requestId, method: 'GET', route, status }, 'answered')
  meters?.answered(route === path ? contract.streams.socket.id : 'none', status, 0)
}

/** A request of the socket's path that is no upgrade. */
export function socketRoute(app: FastifyInstance, context: Context): void {
  stream(app, context, contract.streams.socket, async () => {
    const problem = 'must be websocket: this path is opened as a WebSocket'
    throw new Fault('invalid_request', {
      message: `header upgrade ${problem}.`,
      details: { faults: [{ path: 'header upgrade', problem }] },
    })
  })
}

function refuse(context: Context, request: IncomingMessage, strangers: number): Fault | undefined {
  try {
    context.clientAddress(request)
    checkFraming(request)
  } catch (error) {
    return toFault(error)
  }
  if (request.url !== path) return new Fault('not_found')
  if (request.method !== 'GET') return new Fault('method_not_allowed', { details: { allow: ['GET'] } })
  const { origin } = request.headers
  if (origin !== undefined && origin !== context.portalOrigin()) return new Fault('origin_mismatch')
  if (context.stopping.aborted) return new Fault('unavailable', { retryAfterMs: 1000 })
  if (strangers < unauthenticatedAtOnce) return undefined
  return new Fault('capacity_reached', { details: { limit: 'sockets' }, retryAfterMs: 5000 })
}

const commonHeaders = (requestId: string) => [
  `x-request-id: ${requestId}`,
  'cache-control: no-store',
  'x-content-type-options: nosniff',
]

/** Answered and let go of: no time limit of the HTTP server holds for a connection that asked for an upgrade. */
function endUpgrade(connection: Duplex, fault: Fault, requestId: string): void {
  const body = JSON.stringify(errorBody(fault, requestId))
  connection.once('finish', () => connection.destroy())
  connection.end(
    [
      `HTTP/1.1 ${fault.status} ${fault.code}`,
      'connection: close',
      'content-type: application/json; charset=utf-8',
      ...commonHeaders(requestId),
      ...(fault.status === 405 ? ['allow: GET'] : []),
      ...(fault.retryAfterMs === undefined ? [] : [`retry-after: ${Math.ceil(fault.retryAfterMs / 1000)}`]),
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
}

interface Peer {
  readonly address: string
  readonly requestId: string
}

/** Settles when the socket is no longer unauthenticated: it was opened as a stream, or closed. */
async function serve(context: Context, socket: WebSocket, peer: Peer): Promise<void> {
  socket.on('error', () => socket.terminate())
  try {
    const headers = await firstFrame(context, socket)
    const opened = await authenticate(context, socket, peer, headers)
    socket.once('close', () => opened.closed())
    if (socket.readyState !== socket.OPEN) opened.closed()
  } catch (error) {
    const fault = error instanceof Fault ? error : toFault(error)
    const line = { request_id: peer.requestId, route: path, refusal: fault.code }
    if (fault.code === 'internal') context.log.error({ ...line, err: error }, 'bug')
    else context.log.info(line, 'refused')
    closeWith(socket, fault, peer.requestId)
  }
}

/**
 * From then on every frame is answered as a later one, also while the first is still being judged.
 *
 * @throws unauthenticated when none came in time, or it was something else
 */
async function firstFrame(context: Context, socket: WebSocket): Promise<Readonly<Record<string, string>>> {
  return new Promise((resolve, reject) => {
    const late = () => {
      clearTimeout(timer)
      const message = `The first frame must authenticate within ${limits.socketAuthSeconds} seconds.`
      reject(new Fault('unauthenticated', { message }))
    }
    const timer = setTimeout(late, limits.socketAuthSeconds * 1000)
    socket.once('close', late)
    socket.once('message', (data: Buffer, isBinary: boolean) => {
      clearTimeout(timer)
      socket.off('close', late)
      answerLater(context, socket)
      try {
        resolve(readFrame(isBinary ? undefined : parseStrictJson(data)))
      } catch (error) {
        reject(error)
      }
    })
  })
}

/** Apart, so that what stays for as long as the socket does not keep the first frame and its timer. */
function answerLater(context: Context, socket: WebSocket): void {
  socket.on('message', (data: Buffer, isBinary: boolean) => answer(context, socket, data, isBinary))
}

async function authenticate(
  context: Context,
  socket: WebSocket,
  peer: Peer,
  headers: Readonly<Record<string, string>>,
): Promise<InboxStream> {
  const endpoint = contract.streams.events
  const incoming = {
    method: endpoint.method,
    target: endpoint.path,
    rawHeaders: Object.entries(headers).flat(),
    ...peer,
  }
  const head = await proveHead(context, incoming)
  const caller = await proveBody(context, incoming, head, { sha256: emptySha256, endpoint })
  try {
    requireHeaders(head.presented, endpoint)
    return await InboxStream.open(context, caller, {
      seconds: Number.POSITIVE_INFINITY,
      transport: 'socket',
      outlet: (sessionId) => outletOf(context, socket, { ...peer, sessionId, agentId: caller.agent_id }),
    })
  } finally {
    await spendNonce(context, caller)
  }
}

interface Listener extends Peer {
  readonly agentId: string
  readonly sessionId: string
}

function outletOf(context: Context, socket: WebSocket, { agentId, sessionId, requestId }: Listener): Outlet {
  const now = context.clock().toISOString()
  let lastPongMs = context.monotonicMs()
  let lastPingMs = lastPongMs
  socket.on('pong', () => {
    lastPongMs = context.monotonicMs()
    context.presence.seen(agentId, context.clock())
  })
  socket.send(text({ type: 'ready', session_id: sessionId, server_time: now }))
  return {
    get unsentBytes() {
      return socket.bufferedAmount
    },
    send({ type, data }, flushed) {
      socket.send(JSON.stringify({ type, ...data }), (error) => flushed(!error))
    },
    end: (why) => endSocket(socket, why, requestId),
    /** A half-open connection answers no ping. */
    isAlive(nowMs) {
      if (nowMs - lastPingMs >= limits.heartbeatSeconds * 1000) {
        lastPingMs = nowMs
        socket.ping()
      }
      return nowMs - lastPongMs <= pongWithinMs
    },
  }
}

const text = (frame: ServerFrame): string => JSON.stringify(frame)

function endSocket(socket: WebSocket, why: StreamEnd, id: string): void {
  if (why instanceof Fault) closeWith(socket, why, id)
  else if (why === 'slow') socket.terminate()
  else close(socket, closeCodes.restart)
}

/** After the server's close frame a client has a moment to answer; then the connection is cut. */
const closeGraceMs = 1000

function close(socket: WebSocket, code: number): void {
  socket.close(code)
  const timer = setTimeout(() => socket.terminate(), closeGraceMs)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

function closeWith(socket: WebSocket, fault: Fault, id: string): void {
  if (socket.readyState === socket.OPEN) socket.send(text({ type: 'error', error: errorBody(fault, id) }))
  close(socket, closeCode(fault))
}

function closeCode(fault: Fault): number {
  if (fault.code === 'unavailable') return closeCodes.restart
  if (fault.status === 503) return closeCodes.capacity
  if (fault.status === 409) return closeCodes.session
  if (fault.status === 429) return closeCodes.limit
  if (fault.code === 'invalid_request') return closeCodes.policy
  return closeCodes.authentication
}

/** "Later client frames are limited to ping; anything else closes with 1008." */
function answer(context: Context, socket: WebSocket, data: Buffer, isBinary: boolean): void {
  if (socket.readyState !== socket.OPEN) return
  if (isBinary || data.length > 100 || !/^\s*\{\s*"type"\s*:\s*"ping"\s*\}\s*$/.test(data.toString())) {
    close(socket, closeCodes.policy)
  } else if (socket.bufferedAmount > limits.streamBufferBytes) {
    // Pings without end and no reading: the answers must not pile up.
    socket.terminate()
  } else {
    socket.send(text({ type: 'pong', server_time: context.clock().toISOString() }))
  }
}
