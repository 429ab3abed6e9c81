/**
 * Opens WebSockets, before they authenticate.
 *
 * - A page of another origin is refused.
 * - Fastify does not handle upgrades, so this file writes the answer, its headers and the log line.
 * - A refused upgrade gets the same answer as any refused request, and its connection is closed.
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
import { closeWithAnswer } from '../http/close-connection.ts'
import { errorBody, retryAfter, toApiError } from '../http/errors.ts'
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
  const unauthenticated = createUnauthenticatedSockets()
  app.server.on('upgrade', (request: IncomingMessage, connection: Socket, head: Buffer) => {
    connection.on('error', () => connection.destroy())
    const requestId = context.random(9).toString('base64url')
    const lines = headerLines({ 'x-request-id': requestId, ...app.answerHeaders })
    try {
      const address = requireOpenable(context, request)
      unauthenticated.requireRoom(address)
      const socket = completeHandshake(sockets, { request, connection, head, lines })
      logUpgrade(context, requestId)
      if (socket === undefined) return
      const slot = unauthenticated.add(socket, address)
      void serve(context, socket, { address, requestId, slot })
    } catch (error) {
      const refusal = toApiError(error)
      logUpgrade(context, requestId, refusal)
      closeWithAnswer(connection, refusalText(refusal, requestId, lines))
    }
  })
  context.stopping.addEventListener('abort', () => {
    for (const socket of unauthenticated.sockets()) endSocket(socket, 'restart', '')
  })
}

/** Writes the log line, because Fastify does not log upgrades. */
function logUpgrade({ log, meters }: Context, requestId: string, refusal?: ApiError): void {
  const status = refusal?.status ?? 101
  const route = refusal?.code === 'not_found' ? 'none' : path
  log.info({ request_id: requestId, method: 'GET', route, status }, 'answered')
  meters?.answered(route === path ? contract.streams.socket.id : 'none', status, 0)
}

/** Returns the client's address. @throws ApiError with the reason why no socket may be opened */
function requireOpenable(context: Context, request: IncomingMessage): string {
  const address = context.clientAddress(request)
  checkFraming(request)
  // An exact match, because credentials must never travel in a query.
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
  /** Headers of the answer, as lines. */
  readonly lines: readonly string[]
}

/**
 * Returns undefined if the client has disconnected. @throws invalid_request if the headers are not a
 * WebSocket handshake
 */
function completeHandshake(
  sockets: WebSocketServer,
  { request, connection, head, lines }: Handshake,
): WebSocket | undefined {
  let opened: WebSocket | undefined
  let problem: string | undefined
  sockets.once('headers', (answer) => answer.push(...lines))
  sockets.once('wsClientError', ({ message }) => {
    problem = message
  })
  // Calls the callback or emits `wsClientError` before it returns.
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

function refusalText(refusal: ApiError, requestId: string, lines: readonly string[]): string {
  const body = JSON.stringify(errorBody(refusal, requestId))
  const waits = retryAfter(refusal)
  return [
    `HTTP/1.1 ${refusal.status} ${refusal.code}`,
    'connection: close',
    'content-type: application/json; charset=utf-8',
    ...lines,
    ...(waits === undefined ? [] : [`retry-after: ${waits}`]),
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
}
