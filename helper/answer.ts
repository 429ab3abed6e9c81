/**
 * Writes responses and refusals.
 *
 * - Every refusal is an object with the single field `error`, which has a fixed code.
 * - A client may still be sending its body when it is refused. The helper then reads and discards the body
 *   for up to 2 s before it closes the connection. An immediate close could reset the connection before the
 *   client reads the refusal.
 *
 * Spec §4.5, §7.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { contentHashHeader } from '../sdk/contract/helper/endpoints.ts'
import { type HelperErrorCode, helperErrors } from '../sdk/contract/helper/errors.ts'
import { PartError } from '../sdk/parts/part-error.ts'
import { MethodRefusal } from './routes.ts'

const lingerMs = 2000

const jsonHeaders = (body: string) => ({
  'Content-Type': 'application/json',
  'Content-Length': String(Buffer.byteLength(body)),
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
})

export function answerJson(response: ServerResponse, value: object): void {
  const body = JSON.stringify(value)
  response.writeHead(200, jsonHeaders(body)).end(body)
}

export function beginBytes(response: ServerResponse, size: number, sha256: string): void {
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(size),
    [contentHashHeader]: sha256,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
}

/** Returns whether the connection may carry another request after a refusal with this status. */
const isTrusted = (status: number): boolean =>
  status === 404 || status === 405 || status === 409 || status === 422

/** Sends the refusal for an error. Any error that is not a PartError is a bug and is sent as `internal`. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  // The body is already being sent. Closing early is the only way to show that it is incomplete.
  if (response.headersSent) return void response.destroy()
  const refusal = error instanceof PartError ? error : new PartError('internal')
  const { status } = helperErrors[refusal.code]
  const body = JSON.stringify({ error: refusal.code })
  const isUnread = !request.complete && request.headers['content-length'] !== '0'
  const isLast = isUnread || !isTrusted(status)
  response.writeHead(status, {
    ...jsonHeaders(body),
    ...(refusal instanceof MethodRefusal && { Allow: refusal.allow }),
    ...(isLast && { Connection: 'close' }),
  })
  if (!isUnread || request.method === 'HEAD') return void response.end(body)
  response.write(body)
  const timer = setTimeout(() => response.end(), lingerMs)
  const done = (): void => {
    clearTimeout(timer)
    response.end()
  }
  request
    .on('error', () => {})
    .once('close', done)
    .once('end', done)
    .resume()
}

/** Refuses bytes that are not a valid request, for which there is only a socket. */
export function refuseRaw(socket: Socket, code: HelperErrorCode, reason: string): void {
  const body = JSON.stringify({ error: code })
  const headers = Object.entries({ ...jsonHeaders(body), Connection: 'close' })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${helperErrors[code].status} ${reason}\r\n${lines}\r\n${body}`)
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  // Keep reading; otherwise the close by the client would not be seen.
  socket.once('close', () => clearTimeout(timer)).resume()
}
