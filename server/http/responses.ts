/** Headers that every answer carries, errors included. Contract §1. */
import type { FastifyInstance, FastifyReply } from 'fastify'

export function useResponseHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    setResponseHeaders(reply, request.id)
    done()
  })
}

export function setResponseHeaders(reply: FastifyReply, requestId: string): FastifyReply {
  return reply.headers({
    'x-request-id': requestId,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  })
}
