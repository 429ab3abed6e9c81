/** How each request ended: its answer left whole, or its client had gone before. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

export type Ending = (request: FastifyRequest, reply: FastifyReply, isWhole: boolean) => void

/**
 * To be used before any hook that refuses, so that what is refused ends here too. What an ended request did may stand:
 * that nobody heard the answer changes nothing.
 */
export function useEndings(app: FastifyInstance, endings: readonly Ending[]): void {
  app.addHook('onRequest', (request, reply, done) => {
    // Once for every response, after its last byte or in place of it.
    reply.raw.on('close', () => {
      for (const told of endings) told(request, reply, reply.raw.writableFinished)
    })
    done()
  })
}
