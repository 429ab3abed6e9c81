/**
 * Discards the rest of a refused body.
 *
 * - The node discards up to 1 MiB and keeps the connection if that was the whole rest.
 * - If the body is longer, or the answer is the last one of the connection, the node stops reading once the
 *   answer is sent, and closes the connection a second later. An immediate close would reset the connection,
 *   and a client that is still writing, such as a proxy, would lose the answer.
 *
 * RFC 9112 §9.6.
 */
import { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { closeUnread } from './close-connection.ts'
import { cutSlowBody, isStreaming } from './raw-body.ts'

const droppedBytes = 1024 * 1024

export function dropBody(request: FastifyRequest, reply: FastifyReply): void {
  const { raw, headers } = request
  if (raw.complete) return
  // Fastify closes after a body that is too large. If no header is set, its removal would stop Node from
  // announcing that it closes.
  if (reply.raw.shouldKeepAlive && reply.hasHeader('connection')) reply.removeHeader('connection')
  if (isStreaming(request)) cutSlowBody(request)
  const { socket } = raw
  const close = () => closeUnread(socket)
  // Node calls `destroySoon` after the last answer of a connection, which may be the answer to a short body.
  // Its own implementation closes immediately.
  socket.destroySoon = () => (raw.complete ? Socket.prototype.destroySoon.call(socket) : close())
  let left = droppedBytes
  const drop = (chunk: Buffer) => {
    left -= chunk.length
    if (left >= 0) return
    raw.off('data', drop).pause()
    if (reply.raw.writableFinished) close()
    else reply.raw.once('finish', close)
  }
  // The receiver of a part pauses the body when it fails. The node could then not read the next request.
  raw.on('data', drop).resume()
  if (Number(headers['content-length'] ?? 0) <= droppedBytes) return
  reply.header('connection', 'close')
}
