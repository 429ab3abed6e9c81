/**
 * The rest of a body that was refused.
 *
 * - The node drops up to 1 MiB of it, and the connection stays in use if that is all.
 * - If it is longer, the node reads no more once the answer has left, and closes the connection a second later. Closing at
 *   once would reset it, and a client that is still writing, such as a proxy, would lose the answer.
 *
 * RFC 9112 §9.6.
 */
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cutSlowBody, isStreaming } from './raw-body.ts'

const droppedBytes = 1024 * 1024
/** How long a client that is still writing may take to read the answer. */
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
  raw.on('data', drop)
  if (Number(headers['content-length'] ?? 0) <= droppedBytes) return
  reply.header('connection', 'close')
  // Node calls it after an answer that says so. Its own closes at once.
  raw.socket.destroySoon = close
}

/** Ends this side of the connection, reads no more, and closes it when the client has had time to read the answer. */
function closing(socket: Socket): () => void {
  let begun = false
  return () => {
    if (begun) return
    begun = true
    // The request asks its socket for one more chunk behind the one that it is handling now. TLS that has sent its end
    // would read on, and drop what it reads.
    setImmediate(() => socket.pause().end())
    const timer = setTimeout(() => socket.destroy(), lingerMs)
    timer.unref()
    socket.once('close', () => clearTimeout(timer))
  }
}
