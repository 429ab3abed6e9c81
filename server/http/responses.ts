/** Headers of every answer, refusals and upgrades included. Contract §1, §10. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Exposure } from '../listening/exposure.ts'

export type AnswerHeaders = Readonly<Record<string, string>>

declare module 'fastify' {
  interface FastifyInstance {
    /** Answer headers that are the same for all requests. */
    answerHeaders: AnswerHeaders
  }
}

const usual = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** Without `includeSubDomains`, because other hosts below this name are not ours to decide about. */
const strictTransport = { 'strict-transport-security': 'max-age=31536000' }

/** "With an https origin every answer carries Strict-Transport-Security." Contract §10. */
export const answerHeadersFor = ({
  portalOrigin,
  tls,
}: Pick<Exposure, 'portalOrigin' | 'tls'>): AnswerHeaders =>
  portalOrigin.startsWith('https:') || (portalOrigin === '' && tls !== undefined)
    ? { ...usual, ...strictTransport }
    : usual

export function useResponseHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    setResponseHeaders(reply, request.id)
    done()
  })
}

export function setResponseHeaders(reply: FastifyReply, requestId: string): FastifyReply {
  return reply.headers({ 'x-request-id': requestId, ...reply.server.answerHeaders })
}

/** The same headers as lines, for answers that are written without Fastify. */
export const headerLines = (headers: AnswerHeaders): string[] =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
