/**
 * The inbox over a WebSocket.
 *
 * - The first frame, due within five seconds, carries the credentials: the signed headers of `GET
 *   /api/v1/events`.
 * - After it, the client may send only `ping`.
 *
 * Spec §5 "WebSocket", §6; contract §6.
 */
import type { FastifyInstance } from 'fastify'
import type { WebSocket } from 'ws'
import { closeCodes, type ServerFrame } from '../../sdk/contract/agent/events.ts'
import { emptySha256 } from '../../sdk/contract/helper/manifest.ts'
import { contract } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { errorBody, toApiError } from '../http/errors.ts'
import { parseStrictJson } from '../http/strict-json.ts'
import { spendNonce } from '../identity/admission.ts'
import { proveBody, proveHead, requireHeaders } from '../identity/proof.ts'
import { stream } from '../route.ts'
import { readFrame } from './frames.ts'
import { InboxStream, type Outlet, type StreamEnd } from './stream.ts'
import type { Slot } from './unauthenticated-sockets.ts'

const { path } = contract.streams.socket
/** Pings are sent every ten seconds. If the last pong is older than this, the connection is dead. */
const pongWithinMs = 18_000

/** Answers requests to the socket's path that are not upgrades. */
export function socketRoute(app: FastifyInstance, context: Context): void {
  stream(app, context, contract.streams.socket, async () => {
    const problem = 'must be websocket, because this path accepts only WebSocket connections'
    throw new ApiError('invalid_request', {
      message: `header upgrade ${problem}.`,
      details: { faults: [{ path: 'header upgrade', problem }] },
    })
  })
}

interface Peer {
  readonly address: string
  readonly requestId: string
}

export interface UnauthenticatedSocket extends Peer {
  readonly slot: Slot
}

export async function serve(
  context: Context,
  socket: WebSocket,
  { slot, ...peer }: UnauthenticatedSocket,
): Promise<void> {
  socket.on('error', () => socket.terminate())
  try {
    const headers = await firstFrame(context, socket)
    const opened = await authenticate(context, socket, peer, headers)
    slot.release()
    socket.once('close', () => opened.closed())
    if (socket.readyState !== socket.OPEN) opened.closed()
  } catch (error) {
    const refusal = error instanceof ApiError ? error : toApiError(error)
    const line = { request_id: peer.requestId, route: path, refusal: refusal.code }
    if (refusal.code === 'internal') context.log.error({ ...line, err: error }, 'bug')
    else context.log.info(line, 'refused')
    closeWith(socket, refusal, peer.requestId)
    slot.free()
  }
}

/**
 * From now on every other frame is handled as a later one, even while the first one is being checked.
 *
 * @throws unauthenticated if no frame came in time or the frame is invalid
 */
async function firstFrame(context: Context, socket: WebSocket): Promise<Readonly<Record<string, string>>> {
  return new Promise((resolve, reject) => {
    const late = () => {
      clearTimeout(timer)
      const message = `The first frame must authenticate within ${limits.socketAuthSeconds} seconds.`
      reject(new ApiError('unauthenticated', { message }))
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

/**
 * A separate function, so that this closure, which lives as long as the socket, does not retain the first
 * frame and its timer.
 */
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
    context.presence.seen(agentId, context.steady.now())
  })
  socket.send(text({ type: 'ready', session_id: sessionId, server_time: now }))
  return {
    get unsentBytes() {
      return socket.bufferedAmount
    },
    send({ type, data }, flushed) {
      socket.send(JSON.stringify({ type, ...data }), (error) => flushed(!error))
    },
    end: (reason) => endSocket(socket, reason, requestId),
    /** A half-open connection never answers a ping. */
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

export function endSocket(socket: WebSocket, reason: StreamEnd, id: string): void {
  if (reason instanceof ApiError) closeWith(socket, reason, id)
  else if (reason === 'slow') socket.terminate()
  else close(socket, closeCodes.restart)
}

/** After the server's close frame the client has this long to answer before the connection is terminated. */
const closeGraceMs = 1000

function close(socket: WebSocket, code: number): void {
  socket.close(code)
  const timer = setTimeout(() => socket.terminate(), closeGraceMs)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

function closeWith(socket: WebSocket, refusal: ApiError, id: string): void {
  if (socket.readyState === socket.OPEN) socket.send(text({ type: 'error', error: errorBody(refusal, id) }))
  close(socket, closeCode(refusal))
}

function closeCode(refusal: ApiError): number {
  if (refusal.code === 'unavailable' || refusal.code === 'internal') return closeCodes.restart
  if (refusal.status === 503) return closeCodes.capacity
  if (refusal.status === 409) return closeCodes.session
  if (refusal.status === 429) return closeCodes.limit
  if (refusal.code === 'invalid_request') return closeCodes.policy
  return closeCodes.authentication
}

/** "Later client frames are limited to ping; anything else closes with 1008." */
function answer(context: Context, socket: WebSocket, data: Buffer, isBinary: boolean): void {
  if (socket.readyState !== socket.OPEN) return
  if (isBinary || data.length > 100 || !/^\s*\{\s*"type"\s*:\s*"ping"\s*\}\s*$/.test(data.toString())) {
    close(socket, closeCodes.policy)
  } else if (socket.bufferedAmount > limits.streamBufferBytes) {
    // The client sends pings without reading the answers, which must not pile up.
    socket.terminate()
  } else {
    socket.send(text({ type: 'pong', server_time: context.clock().toISOString() }))
  }
}
