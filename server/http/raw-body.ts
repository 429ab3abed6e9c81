/**
 * Request bodies as the bytes that were signed. They are parsed only after the proof has been verified.
 *
 * A body with a wrong content type is read too. So a caller without a valid identity gets the refusal of its
 * identity, not of the content type.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.ts'
import { closeUnread, statusOnly } from './close-connection.ts'
import { parseStrictJson } from './strict-json.ts'

const none = Buffer.alloc(0)

/** A body that is not complete within this time is cut: the connection is closed. */
const bodyMs = 30_000

/** Route configuration for handlers that read the body themselves. */
export const streamingBody = { streamingBody: true } as const

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly streamingBody?: true
  }
}

export const isStreaming = ({ routeOptions }: FastifyRequest): boolean =>
  routeOptions.config.streamingBody === true

export function useRawBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  // Accepts any type. The usual one is named too, because Fastify caches parsers by name only.
  app.addContentTypeParser(['application/json', '*'], { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  app.addHook('onRequest', (request, _reply, done) => {
    if (!isStreaming(request)) cutSlowBody(request)
    done()
  })
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.headers.expect !== undefined && !isStreaming(request)) reply.raw.writeContinue()
    done()
  })
}

/**
 * Closes the connection if the body is not complete in time. Node has only one limit for all requests, and
 * parts of packages have a minimum rate instead.
 */
export function cutSlowBody({ raw, headers, server }: FastifyRequest): void {
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
  const timer = setTimeout(() => {
    if (!raw.complete) closeUnread(raw.socket, statusOnly(408, server.answerHeaders))
  }, bodyMs)
  timer.unref()
  // Emitted both after a complete body and after an abort.
  raw.on('close', () => clearTimeout(timer))
}

/** The bytes of the body as sent, before `parseBody`. */
export const rawBody = (request: FastifyRequest): Buffer =>
  Buffer.isBuffer(request.body) ? request.body : none

/** Parses the body. @throws invalid_request if it is not JSON or has another content type */
export function parseBody(request: FastifyRequest, bytes: Buffer): unknown {
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/json(?:\s*;\s*charset=utf-8)?$/i.test(type)) throw wrongContentType()
  return parseStrictJson(bytes)
}

export function wrongContentType(): ApiError {
  const problem = 'must be application/json'
  return new ApiError('invalid_request', {
    message: `header content-type ${problem}`,
    details: { faults: [{ path: 'header content-type', problem }] },
  })
}
