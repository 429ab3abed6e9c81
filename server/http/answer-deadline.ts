/**
 * Closes the connection of a client that stops reading its answer. Unread bytes pin memory, and the messages
 * in the answer stay in flight.
 *
 * - The deadline starts when the answer is sent, so a long-poll that has no answer yet is not affected.
 * - Only progress counts: a slow reader is served, a reader that takes nothing for the whole time is closed.
 * - Streams bypass this hook and have their own limit.
 *
 * Contract §6; design: bounded resources.
 */
import type { FastifyInstance } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'

export function useAnswerDeadline(app: FastifyInstance, stallMs = limits.answerStallSeconds * 1000): void {
  app.addHook('onSend', (_request, { raw }, _payload, done) => {
    const { socket } = raw
    // Node's socket timeout restarts whenever part of a write has been sent, not only when all of it has.
    raw.setTimeout(stallMs)
    raw.on('finish', () => {
      // If Node has set the keep-alive timeout, leave it. Otherwise a later request on this connection may
      // wait long, so the timeout is removed.
      if (socket?.timeout === stallMs) socket.setTimeout(0)
    })
    done()
  })
}
