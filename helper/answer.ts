/**
 * Answers and refusals on the wire.
 *
 * - A refusal is an object with a single field `error` holding a fixed code, whatever went wrong.
 * - A client that is still sending its body gets the refusal whole: what it sends is read and thrown away for a moment
 *   before the connection is closed, else the close would overtake the answer.
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

/** Statuses after which the connection may carry another request. */
const isTrusted = (status: number): boolean =>
  status === 404 || status === 405 || status === 409 || status === 422

/** What went wrong, as the client may see it. What is no refusal is a bug, and tells nothing. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  // Bytes are under way: only a short answer can say that they are not the file.
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

/** A refusal of bytes that are no request: nothing but the socket is there. */
export function refuseRaw(socket: Socket, code: HelperErrorCode, reason: string): void {
  const body = JSON.stringify({ error: code })
  const headers = Object.entries({ ...jsonHeaders(body), Connection: 'close' })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${helperErrors[code].status} ${reason}\r\n${lines}\r\n${body}`)
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  // Read on, or the client's own close would not be seen.
  socket.once('close', () => clearTimeout(timer)).resume()
}
