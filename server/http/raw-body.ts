/**
 * Bodies arrive as the bytes that were signed; they are parsed only after the proof holds.
 *
 * A wrong content type is read all the same, so that a stranger hears about the identity first.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.ts'
import { letGo, statusOnly } from './close-connection.ts'
import { parseStrictJson } from './strict-json.ts'

const none = Buffer.alloc(0)

/** A body is there within this, or its connection is cut. */
const bodyMs = 30_000

/** The route's configuration where the handler reads the body itself. */
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
  // Any type; the usual one by its name, since Fastify remembers the parsers of names only.
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

/** Node has one time for every request; a package part has none, only a rate. */
export function cutSlowBody({ raw, headers, server }: FastifyRequest): void {
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
  const timer = setTimeout(() => {
    if (!raw.complete) letGo(raw.socket, statusOnly(408, server.answerHeaders))
  }, bodyMs)
  timer.unref()
  // Which comes after the end, and without one.
  raw.on('close', () => clearTimeout(timer))
}

/** The bytes of the body as they were sent, before `parseBody`. */
export const rawBody = (request: FastifyRequest): Buffer =>
  Buffer.isBuffer(request.body) ? request.body : none

/** @throws invalid_request unless the body is JSON of the right content type. */
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
