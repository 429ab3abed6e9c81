/**
 * Detects that the client of a long-poll or stream has disconnected.
 *
 * A client that closes only its sending side still gets the answers to its requests. A long-poll ends early
 * in that case, because a killed client looks the same: its agent would otherwise count as listening and be
 * offered messages.
 *
 * Contract §6.
 */
import type { FastifyRequest } from 'fastify'

/**
 * Whether the connection is closed or its client has ended its side. Node emits each of these events only once.
 */
export const hasLeft = ({ raw: { socket } }: FastifyRequest): boolean =>
  socket.destroyed || socket.readableEnded

/** Calls `leave` when the client disconnects, until the returned function is called. */
export function onLeaving({ raw: { socket } }: FastifyRequest, leave: () => void): () => void {
  socket.once('end', leave)
  socket.once('close', leave)
  return () => {
    socket.off('end', leave)
    socket.off('close', leave)
  }
}
