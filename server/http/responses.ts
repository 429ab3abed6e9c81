/** Headers that every answer carries, refusals and upgrades included. Contract §1. */
import type { FastifyInstance, FastifyReply } from 'fastify'

export type AnswerHeaders = Readonly<Record<string, string>>

declare module 'fastify' {
  interface FastifyInstance {
    /** Those that do not depend on the request. */
    answerHeaders: AnswerHeaders
  }
}

export const answerHeaders: AnswerHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

export function useResponseHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    setResponseHeaders(reply, request.id)
    done()
  })
}

export function setResponseHeaders(reply: FastifyReply, requestId: string): FastifyReply {
  return reply.headers({ 'x-request-id': requestId, ...reply.server.answerHeaders })
}

/** The same as lines, for what is no answer of Fastify's. */
export const headerLines = (headers: AnswerHeaders): string[] =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
