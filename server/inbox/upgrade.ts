/**
 * How a WebSocket is opened, before it says whose it is.
 *
 * - A page of another origin may not open one.
 * - An upgrade is no request of Fastify's: its answer, headers and log line are written here.
 * - A refused upgrade is answered as any refused request, and its connection is closed.
 *
 * Spec §5 "WebSocket"; contract §6.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { contract } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { letGo } from '../http/close-connection.ts'
import { errorBody, retryAfter, toFault } from '../http/errors.ts'
import { checkFraming } from '../http/framing.ts'
import { headerLines } from '../http/responses.ts'
import { retryAfterMs } from '../retry-after.ts'
import { endSocket, serve } from './socket.ts'
import { createUnauthenticatedSockets } from './unauthenticated-sockets.ts'

const { path } = contract.streams.socket

export function useSocket(app: FastifyInstance, context: Context): void {
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: limits.socketFrameBytes,
  })
  const strangers = createUnauthenticatedSockets()
  app.server.on('upgrade', (request: IncomingMessage, connection: Socket, head: Buffer) => {
    connection.on('error', () => connection.destroy())
    const requestId = context.random(9).toString('base64url')
    const lines = headerLines({ 'x-request-id': requestId, ...app.answerHeaders })
    try {
      const address = requireOpenable(context, request)
      strangers.requireRoom(address)
      const socket = shakeHands(sockets, { request, connection, head, lines })
      logUpgrade(context, requestId)
      if (socket === undefined) return
      const known = strangers.add(socket, address)
      void serve(context, socket, { address, requestId, known })
    } catch (error) {
      const refusal = toFault(error)
      logUpgrade(context, requestId, refusal)
      letGo(connection, refusalText(refusal, requestId, lines))
    }
  })
  context.stopping.addEventListener('abort', () => {
    for (const socket of strangers.sockets()) endSocket(socket, 'restart', '')
  })
}

/** An upgrade is no request of Fastify's: its line is ours to write. */
function logUpgrade({ log, meters }: Context, requestId: string, refusal?: ApiError): void {
  const status = refusal?.status ?? 101
  const route = refusal?.code === 'not_found' ? 'none' : path
  log.info({ request_id: requestId, method: 'GET', route, status }, 'answered')
  meters?.answered(route === path ? contract.streams.socket.id : 'none', status, 0)
}

/** The address of the client. @throws ApiError that says why no socket may be opened */
function requireOpenable(context: Context, request: IncomingMessage): string {
  const address = context.clientAddress(request)
  checkFraming(request)
  // Credentials never travel in a query.
  if (request.url !== path) throw new ApiError('not_found')
  const { origin } = request.headers
  if (origin !== undefined && origin !== context.portalOrigin()) throw new ApiError('origin_mismatch')
  if (context.stopping.aborted) throw new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart })
  return address
}

interface Handshake {
  readonly request: IncomingMessage
  readonly connection: Socket
  readonly head: Buffer
  /** Headers of the answer. */
  readonly lines: readonly string[]
}

/** Undefined where the client has gone already. @throws invalid_request for headers that open no WebSocket */
function shakeHands(
  sockets: WebSocketServer,
  { request, connection, head, lines }: Handshake,
): WebSocket | undefined {
  let opened: WebSocket | undefined
  let problem: string | undefined
  sockets.once('headers', (answer) => answer.push(...lines))
  sockets.once('wsClientError', ({ message }) => {
    problem = message
  })
  // Calls back, or refuses, before it returns.
  sockets.handleUpgrade(request, connection, head, (socket) => {
    opened = socket
  })
  sockets.removeAllListeners()
  if (problem === undefined) return opened
  throw new ApiError('invalid_request', {
    message: `${problem}.`,
    details: { faults: [{ path: 'headers', problem }] },
  })
}

function refusalText(fault: ApiError, requestId: string, lines: readonly string[]): string {
  const body = JSON.stringify(errorBody(fault, requestId))
  const waits = retryAfter(fault)
  return [
    `HTTP/1.1 ${fault.status} ${fault.code}`,
    'connection: close',
    'content-type: application/json; charset=utf-8',
    ...lines,
    ...(waits === undefined ? [] : [`retry-after: ${waits}`]),
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
}
