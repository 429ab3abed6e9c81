/**
 * The single translator from what was thrown to a status and a body.
 *
 * Anything that is not a `ApiError` is a bug: it is logged whole and tells the caller only the request id.
 *
 * Spec §7; contract §1, §2.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorBody } from '../../sdk/contract/error-body.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { settleIdentity } from '../identity/agent.ts'
import { logEnding } from '../log.ts'
import { dropBody } from './drop-body.ts'
import { wrongContentType } from './raw-body.ts'
import { setResponseHeaders } from './responses.ts'
import { toFaults } from './schema-errors.ts'

const partNames: Record<string, string> = { body: 'body', querystring: 'query', params: 'path' }

/** What a thrown thing means on the wire. */
export function toFault(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const failure = error as FastifyError
  if (failure.validation) {
    const faults = toFaults(partNames[failure.validationContext ?? ''] ?? 'request', failure.validation)
    const message = faults.map(({ path, problem }) => `${path} ${problem}`).join('; ')
    return new ApiError('invalid_request', { message, details: { faults } })
  }
  if (failure.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new ApiError('body_too_large', {
      message: `The body is longer than ${limits.jsonBodyBytes} bytes.`,
      details: { limit_bytes: limits.jsonBodyBytes },
    })
  }
  // What no media type can be is refused before the body is read.
  if (failure.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return wrongContentType()
  if (failure.code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') {
    return new ApiError('invalid_request', {
      message: 'The body is not as long as Content-Length says.',
      details: { faults: [{ path: 'header content-length', problem: 'differs from the body' }] },
    })
  }
  return new ApiError('internal')
}

export function errorBody(fault: ApiError, requestId: string): ErrorBody {
  return {
    error: fault.code,
    message: fault.message,
    request_id: requestId,
    ...(fault.retryAfterMs !== undefined && { retry_after_ms: fault.retryAfterMs }),
    ...(fault.details !== undefined && { details: { ...fault.details } }),
  }
}

export function useFaults(app: FastifyInstance): void {
  app.setErrorHandler(async (thrown: unknown, request, reply) => {
    const fault = await settle(toFault(thrown), request)
    if (hasLeft(thrown, request)) request.log.debug('the client left in the middle of its body')
    else if (fault.code === 'internal') request.log.error({ err: thrown }, 'bug')
    else if (fault.cause !== undefined) request.log.error({ err: fault.cause }, fault.code)
    dropBody(request, reply)
    return sendFault(reply, fault, request.id)
  })
  // Before the body is read: what comes with a request to nowhere does not matter.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) throw nowhere(request, reply)
    done()
  })
}

/** Nobody's bug, and nobody hears the answer: the line of its ending says `cut`. */
const hasLeft = (thrown: unknown, { raw }: FastifyRequest): boolean =>
  raw.destroyed && !raw.complete && (thrown as FastifyError).code === 'ECONNRESET'

/** Where the router finds no path at all, such as in `%zz`; no hook has run. */
export function refuseTarget(_error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const told = logEnding(request.server.log)
  reply.raw.once('close', () => told(request, reply, reply.raw.writableFinished))
  sendFault(setResponseHeaders(reply, request.id), new ApiError('not_found'), request.id)
}

function nowhere(request: FastifyRequest, reply: FastifyReply): ApiError {
  const allowed = methodsOf(request.raw.url?.split('?', 1)[0] ?? '')
  if (allowed.length === 0) return new ApiError('not_found')
  reply.header('allow', allowed.join(', '))
  return new ApiError('method_not_allowed', { details: { allow: allowed } })
}

/** A refusal after a good proof still spends the nonce, and a fenced session outranks a bad field. */
async function settle(fault: ApiError, request: FastifyRequest): Promise<ApiError> {
  try {
    await settleIdentity(request, fault)
    return fault
  } catch (error) {
    return toFault(error)
  }
}

/** "`Retry-After` goes with 429 and 503", in whole seconds. */
export const retryAfter = ({ status, retryAfterMs }: ApiError): number | undefined =>
  retryAfterMs !== undefined && (status === 429 || status === 503)
    ? Math.max(1, Math.ceil(retryAfterMs / 1000))
    : undefined

export function sendFault(reply: FastifyReply, fault: ApiError, requestId: string): FastifyReply {
  const waits = retryAfter(fault)
  if (waits !== undefined) reply.header('retry-after', waits)
  return reply.code(fault.status).send(errorBody(fault, requestId))
}

const pathRules = [...new Set(endpoints.map((each) => each.path))].map((path) => ({
  rule: new RegExp(`^${path.replace(/\{[a-z_]+\}/g, '[^/]+')}$`),
  methods: endpoints.filter((each) => each.path === path).map((each) => each.method),
}))

const methodsOf = (path: string): string[] => [
  ...new Set(pathRules.filter(({ rule }) => rule.test(path)).flatMap(({ methods }) => methods)),
]
