/**
 * An answer that nobody takes is not kept for ever: its bytes pin memory, and the messages in it stay held.
 *
 * - It begins when the answer is sent: a wait that has nothing to say yet is not cut.
 * - It is about progress: who reads slowly is served, who has taken nothing for the whole time is cut.
 * - Streams take their connection over, send nothing this way, and have a rule of their own.
 *
 * Contract §6; design: bounded resources.
 */
import type { FastifyInstance } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'

export function useAnswerDeadline(app: FastifyInstance, stallMs = limits.answerStallSeconds * 1000): void {
  app.addHook('onSend', (_request, { raw }, _payload, done) => {
    const { socket } = raw
    // Node looks at what of a write has left, not only at whether all of it has, and cuts the connection.
    raw.setTimeout(stallMs)
    raw.on('finish', () => {
      // Unless Node gave the idle connection its own: what was asked for behind this answer may wait long.
      if (socket?.timeout === stallMs) socket.setTimeout(0)
    })
    done()
  })
}
