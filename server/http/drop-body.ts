/**
 * Discards the rest of a refused body.
 *
 * - The node discards up to 1 MiB and keeps the connection if that was the whole rest.
 * - If the body is longer, the node stops reading once the answer is sent, and closes the connection a second
 *   later. An immediate close would reset the connection, and a client that is still writing, such as a
 *   proxy, would lose the answer.
 *
 * RFC 9112 §9.6.
 */
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cutSlowBody, isStreaming } from './raw-body.ts'

const droppedBytes = 1024 * 1024
/** Time that a client that is still writing has to read the answer. */
const lingerMs = 1000

export function dropBody(request: FastifyRequest, reply: FastifyReply): void {
  const { raw, headers } = request
  if (raw.complete) return
  reply.removeHeader('connection')
  if (isStreaming(request)) cutSlowBody(request)
  const close = closing(raw.socket)
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
  // Node calls `destroySoon` after an answer with `Connection: close`. Its own implementation closes
  // immediately.
  raw.socket.destroySoon = close
}

/** Ends this side of the connection, stops reading, and destroys the connection after `lingerMs`. */
function closing(socket: Socket): () => void {
  let begun = false
  return () => {
    if (begun) return
    begun = true
    // Deferred, because the request asks its socket for one more chunk after the current one. A TLS socket
    // that has ended its side would continue to read and discard.
    setImmediate(() => socket.pause().end())
    const timer = setTimeout(() => socket.destroy(), lingerMs)
    timer.unref()
    socket.once('close', () => clearTimeout(timer))
  }
}
