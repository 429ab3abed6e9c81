/**
 * The inbox over a WebSocket.
 *
 * - Credentials travel in the first frame, within five seconds: the signed headers of `GET /api/v1/events`.
 * - Afterwards the client may send `ping` and nothing else.
 *
 * Spec §5 "WebSocket", §6; contract §6.
 */
import type { FastifyInstance } from 'fastify'
import type { WebSocket } from 'ws'
import { closeCodes, type ServerFrame } from '../../sdk/contract/events.ts'
import { emptySha256 } from '../../sdk/contract/helper/manifest.ts'
import { contract } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { errorBody, toFault } from '../http/errors.ts'
import { parseStrictJson } from '../http/strict-json.ts'
import { spendNonce } from '../identity/admission.ts'
import { proveBody, proveHead, requireHeaders } from '../identity/proof.ts'
import { stream } from '../route.ts'
import { readFrame } from './frames.ts'
import { InboxStream, type Outlet, type StreamEnd } from './stream.ts'

const { path } = contract.streams.socket
/** Pings go out every ten seconds, so an answer that is older than this means that the connection is dead. */
const pongWithinMs = 18_000

/** A request of the socket's path that is no upgrade. */
export function socketRoute(app: FastifyInstance, context: Context): void {
  stream(app, context, contract.streams.socket, async () => {
    const problem = 'must be websocket: this path is opened as a WebSocket'
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

/** A socket that was opened, and what to call once it has said whose it is. */
export interface UnauthenticatedSocket extends Peer {
  readonly known: () => void
}

export async function serve(
  context: Context,
  socket: WebSocket,
  { known, ...peer }: UnauthenticatedSocket,
): Promise<void> {
  socket.on('error', () => socket.terminate())
  try {
    const headers = await firstFrame(context, socket)
    const opened = await authenticate(context, socket, peer, headers)
    known()
    socket.once('close', () => opened.closed())
    if (socket.readyState !== socket.OPEN) opened.closed()
  } catch (error) {
    const fault = error instanceof ApiError ? error : toFault(error)
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

export function endSocket(socket: WebSocket, why: StreamEnd, id: string): void {
  if (why instanceof ApiError) closeWith(socket, why, id)
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

function closeWith(socket: WebSocket, fault: ApiError, id: string): void {
  if (socket.readyState === socket.OPEN) socket.send(text({ type: 'error', error: errorBody(fault, id) }))
  close(socket, closeCode(fault))
}

function closeCode(fault: ApiError): number {
  if (fault.code === 'unavailable' || fault.code === 'internal') return closeCodes.restart
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
