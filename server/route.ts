/**
 * Binds one contract entry to one handler.
 *
 * The entry's `caller` and `idempotent` decide which checks run before the handler, in the contract's order:
 * framing, Origin, header shape, credential, time, body size, proof, nonce, session, schema.
 *
 * Contract §2 "Order".
 */
import type { Readable } from 'node:stream'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BodyOf, EndpointSpec, ParamsOf, QueryOf, ResponseOf } from '../sdk/contract/endpoint.ts'
import { transferLimits } from '../sdk/contract/helper/limits.ts'
import { ApiError } from './api-error.ts'
import { recordingRefusal } from './audit/refusals.ts'
import type { Context } from './context.ts'
import { streamedAnswer } from './http/connection-bounds.ts'
import { refuseGetBody, refuseRanges, refuseSecondOrigin } from './http/framing.ts'
import { describeRoute } from './http/openapi.ts'
import { refuseCrossSite, requireOrigin } from './http/origin.ts'
import { parseBody, rawBody, streamingBody } from './http/raw-body.ts'
import { Answer, type Keyed, keyedRequest } from './idempotency.ts'
import { proveRequestBody, proveRequestHead, statedHash } from './identity/agent.ts'
import type { AgentCaller, CallerOf } from './identity/callers.ts'
import { proveOwner } from './identity/owner.ts'
import { requireIdempotencyKey } from './identity/raw-headers.ts'
import { proveTelemetry } from './identity/telemetry.ts'

export interface Call<E extends EndpointSpec> {
  readonly params: ParamsOf<E>
  readonly query: QueryOf<E>
  readonly body: BodyOf<E>
  readonly caller: CallerOf<E['caller']>
  /** Only meaningful if the entry is idempotent. */
  readonly keyed: Keyed
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

declare module 'fastify' {
  interface FastifyRequest {
    keyed: Keyed | null
  }
}

type Result<E extends EndpointSpec> = Promise<ResponseOf<E> | Answer>

export function route<E extends EndpointSpec>(
  app: FastifyInstance,
  context: Context,
  entry: E,
  handler: (call: Call<E>) => Result<E>,
): void {
  app.route({
    ...hooks(context, entry),
    handler: async (request, reply) => {
      const result = await recordingRefusal(context, request, () =>
        handler({
          params: request.params as ParamsOf<E>,
          query: request.query as QueryOf<E>,
          body: request.body as BodyOf<E>,
          caller: request.caller as CallerOf<E['caller']>,
          keyed: request.keyed ?? noKey,
          request,
          reply,
        }),
      )
      if (!(result instanceof Answer)) return result
      if (result.replayed) reply.header('idempotency-replayed', 'true')
      return reply.type('application/json; charset=utf-8').send(result.bytes)
    },
  })
}

export interface Taken<E extends EndpointSpec>
  extends Pick<Call<E>, 'caller' | 'params' | 'request' | 'reply'> {}

/**
 * Binds an entry whose answer streams. Such a request is refused if an earlier request on its connection is
 * unanswered.
 */
export const stream = <E extends EndpointSpec>(
  app: FastifyInstance,
  context: Context,
  entry: E,
  handler: (call: Taken<E>) => Promise<void>,
): void => takingOver(app, context, entry, handler, streamedAnswer)

/** Binds an entry whose handler sends the answer itself. */
export function takingOver<E extends EndpointSpec>(
  app: FastifyInstance,
  context: Context,
  entry: E,
  handler: (call: Taken<E>) => Promise<void>,
  config: FastifyContextConfig = {},
): void {
  app.route({
    ...hooks(context, entry),
    config,
    handler: async (request, reply) => {
      const params = request.params as ParamsOf<E>
      const caller = request.caller as CallerOf<E['caller']>
      await recordingRefusal(context, request, () => handler({ caller, params, request, reply }))
    },
  })
}

/** A request body that has not been read yet. */
export interface Bytes {
  readonly length: number | undefined
  /** The hash from `X-Content-SHA256`, which the sender signed. Undefined without that header. */
  readonly stated: string | undefined
  /** Starts reading. Sends `100 Continue` if the client expects it. */
  stream(): Readable
  /** Closes the connection soon after the answer, even if the client is still sending. */
  cut(): void
}

interface Receiver<E extends EndpointSpec> {
  /** Returns the hash that the body must have. Called only if the sender states no hash. */
  hashOf(
    caller: Pick<AgentCaller, 'agent_id' | 'project_id'>,
    params: ParamsOf<E>,
  ): Promise<string | undefined>
  handler(call: Pick<Call<E>, 'caller' | 'params'> & { readonly bytes: Bytes }): Promise<ResponseOf<E>>
}

/**
 * Binds an entry whose body streams to its handler. "Proof and nonce are checked before the body." Contract
 * §3.
 */
export function receiving<E extends EndpointSpec & { readonly bytes: 'request'; readonly caller: 'agent' }>(
  app: FastifyInstance,
  context: Context,
  entry: E,
  { hashOf, handler }: Receiver<E>,
): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.route({
      ...hooks(context, entry),
      bodyLimit: transferLimits.partBytes,
      config: streamingBody,
      preValidation: async (request) => {
        requirePartSize(request)
        const params = request.params as ParamsOf<E>
        await proveRequestBody(request, entry, (identity) => hashOf(identity, params))
      },
      handler: (request, reply) =>
        recordingRefusal(context, request, () =>
          handler({
            caller: request.caller as CallerOf<E['caller']>,
            params: request.params as ParamsOf<E>,
            bytes: bytesOf(request, reply),
          }),
        ),
    })
  })
}

/** @throws body_too_large */
function requirePartSize({ headers }: FastifyRequest): void {
  const limit = transferLimits.partBytes
  if (Number(headers['content-length'] ?? 0) <= limit) return
  throw new ApiError('body_too_large', {
    message: `A part has at most ${limit} bytes.`,
    details: { limit_bytes: limit },
  })
}

/** Time that a client whose upload was refused has to read the answer before its connection is closed. */
const cutMs = 1000

function bytesOf(request: FastifyRequest, reply: FastifyReply): Bytes {
  const { raw } = request
  const { 'content-length': length, expect } = request.headers
  return {
    length: length === undefined ? undefined : Number(length),
    stated: statedHash(request),
    stream() {
      if (expect !== undefined) reply.raw.writeContinue()
      return raw
    },
    cut() {
      reply.raw.once('finish', () => {
        const timer = setTimeout(() => raw.complete || raw.socket.destroy(), cutMs)
        raw.socket.once('close', () => clearTimeout(timer))
      })
    },
  }
}

/** Hooks and schema that run before the handler of every entry. */
const hooks = (context: Context, entry: EndpointSpec) => ({
  method: entry.method,
  url: entry.path.replace(/\{([a-z_]+)\}/g, ':$1'),
  schema: describeRoute(entry),
  onRequest: (request: FastifyRequest) => before(context, entry, request),
  preValidation: (request: FastifyRequest) => afterBody(entry, request),
})

const noKey: Keyed = { method: '', route: '', key: '', fingerprint: Buffer.alloc(0) }

/** Checks headers, before the body is read. */
async function before(context: Context, entry: EndpointSpec, request: FastifyRequest): Promise<void> {
  const { raw } = request
  const isOwners = entry.caller === 'owner' || entry.caller === 'owner-signing-in'
  if (isOwners && entry.method === 'POST') requireOrigin(raw, context.portalOrigin())
  else refuseSecondOrigin(raw)
  if (isOwners) refuseCrossSite(raw)
  refuseGetBody(raw)
  if (entry.caller === 'public') context.throttle.takePublic(request.clientAddress)
  if (entry.bytes !== undefined) refuseRanges(raw)
  if (entry.bytes === 'request') statedHash(request)
  if (entry.caller === 'agent' || entry.caller === 'agent-without-session')
    return proveRequestHead(context, request)
  if (entry.idempotent) requireIdempotencyKey(raw.rawHeaders)
  if (entry.caller === 'telemetry') await proveTelemetry(context, request)
  if (entry.caller === 'owner')
    await recordingRefusal(context, request, () => proveOwner(context, request, entry))
}

/** Checks the proof and parses the body, before schema validation. */
async function afterBody(entry: EndpointSpec, request: FastifyRequest): Promise<void> {
  const bytes = rawBody(request)
  if (entry.caller === 'agent' || entry.caller === 'agent-without-session')
    await proveRequestBody(request, entry)
  if (request.caller === null) {
    const { clientAddress: address, id: request_id } = request
    const user_agent = request.headers['user-agent'] ?? ''
    request.caller = { kind: 'public', address, user_agent, endpoint: entry, request_id }
  }
  if (entry.idempotent) request.keyed = keyedRequest(request, entry.path, bytes)
  if (entry.body !== undefined) request.body = parseBody(request, bytes)
}
