/**
 * Closes the connection of a client that stops reading its answer. Unread bytes pin memory, and the messages
 * in the answer stay in flight.
 *
 * - The deadline starts when the answer is sent, so a long-poll that has no answer yet is not affected.
 * - Only progress counts: a slow reader is served, a reader that takes nothing for the whole time is closed.
 * - The time in which the node itself stalls does not count, because the node could not send meanwhile.
 * - Streams bypass this hook and have their own limit.
 *
 * Contract §6; design: bounded resources.
 */
import type { FastifyInstance } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'

/** The deadline passes in so many equal parts. A stall of the node spoils one part, not the whole time. */
const parts = 8

export function useAnswerDeadline(
  app: FastifyInstance,
  monotonicMs: () => number,
  stallMs: number = limits.answerStallSeconds * 1000,
): void {
  const partMs = stallMs / parts
  app.addHook('onSend', (request, { raw }, _payload, done) => {
    // An answer behind another one has no socket of its own yet.
    const { socket } = request.raw
    let idleParts = 0
    let lastMs = 0
    let handedOver = -1
    // Node's socket timeout restarts whenever part of a write has been sent, not only when all of it has.
    raw.setTimeout(partMs, () => {
      const nowMs = monotonicMs()
      // A longer gap means that bytes were sent in between, or that the node stalled.
      const isIdle = socket.bytesWritten === handedOver && nowMs - lastMs < 2 * partMs
      idleParts = isIdle ? idleParts + 1 : 1
      lastMs = nowMs
      handedOver = socket.bytesWritten
      if (idleParts >= parts) socket.destroy()
      else socket.setTimeout(partMs)
    })
    // Prepended, because Node's own handler sets the keep-alive timeout, or gives the socket and its deadline
    // to the next answer. If that one is not produced yet, it may take long, so the timeout is removed.
    raw.prependListener('finish', () => {
      if (socket.timeout === partMs) socket.setTimeout(0)
    })
    done()
  })
}
