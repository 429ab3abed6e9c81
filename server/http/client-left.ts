/**
 * When a client leaves a wait.
 *
 * A client that ends its side of a connection gets the answers to its requests. A wait ends early then, because the end of
 * a killed client looks the same. Its agent would count as listening and be offered messages.
 *
 * Contract §6.
 */
import type { FastifyRequest } from 'fastify'

/** The connection is closed, or its client has ended its side. No event tells of either a second time. */
export const hasLeft = ({ raw: { socket } }: FastifyRequest): boolean =>
  socket.destroyed || socket.readableEnded

/** Calls `leave` when that happens, until the returned function is called. */
export function onLeaving({ raw: { socket } }: FastifyRequest, leave: () => void): () => void {
  socket.once('end', leave)
  socket.once('close', leave)
  return () => {
    socket.off('end', leave)
    socket.off('close', leave)
  }
}
