/** Reports how each request ended: with a complete answer, or because its client disconnected first. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

export type Ending = (request: FastifyRequest, reply: FastifyReply, isWhole: boolean) => void

/**
 * Must be registered before any hook that refuses, so that refused requests are reported too. `isWhole` is
 * false if the answer was not sent completely. The effects of such a request are kept.
 */
export function useEndings(app: FastifyInstance, endings: readonly Ending[]): void {
  app.addHook('onRequest', (request, reply, done) => {
    // Emitted once per response, after its last byte or when the connection closes early.
    reply.raw.on('close', () => {
      for (const ending of endings) ending(request, reply, reply.raw.writableFinished)
    })
    done()
  })
}
