/**
 * Translates a thrown value into a status and a body. This is the only place that does.
 *
 * Anything that is not an `ApiError` is a bug: it is logged completely, and the caller gets only the request
 * id.
 *
 * Spec §7; contract §1, §2.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorBody } from '../../sdk/contract/error-body.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { dropBody } from './drop-body.ts'
import { isPagePath } from './page-paths.ts'
import { wrongContentType } from './raw-body.ts'
import { toFaults } from './schema-errors.ts'

const partNames: Record<string, string> = { body: 'body', querystring: 'query', params: 'path' }

/** Returns the ApiError that stands for a thrown value. */
export function toApiError(error: unknown): ApiError {
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
  // Fastify refuses an unparsable media type before it reads the body.
  if (failure.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return wrongContentType()
  if (failure.code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') {
    return new ApiError('invalid_request', {
      message: 'The length of the body differs from Content-Length.',
      details: { faults: [{ path: 'header content-length', problem: 'differs from the body' }] },
    })
  }
  return new ApiError('internal')
}

export function errorBody(refusal: ApiError, requestId: string): ErrorBody {
  return {
    error: refusal.code,
    message: refusal.message,
    request_id: requestId,
    ...(refusal.retryAfterMs !== undefined && { retry_after_ms: refusal.retryAfterMs }),
    ...(refusal.details !== undefined && { details: { ...refusal.details } }),
  }
}

/** Runs before a refusal is sent. An error that it throws is answered instead. */
export type BeforeRefusal = (request: FastifyRequest, refusal: ApiError) => Promise<void>

export function useErrorHandler(app: FastifyInstance, beforeRefusal: BeforeRefusal): void {
  app.setErrorHandler(async (thrown: unknown, request, reply) => {
    const refusal = await settle(toApiError(thrown), request, beforeRefusal)
    if (hasLeft(thrown, request)) request.log.debug('the client disconnected while sending its body')
    else if (refusal.code === 'internal') request.log.error({ err: thrown }, 'bug')
    else if (refusal.cause !== undefined) request.log.error({ err: refusal.cause }, refusal.code)
    dropBody(request, reply)
    return sendRefusal(reply, refusal, request.id)
  })
  // Before the body is read, because the body of a request to an unknown path does not matter.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) throw unknownTarget(request, reply)
    done()
  })
}

/**
 * Whether the client disconnected while sending its body. The request is then logged as `cut` and not as a bug.
 */
const hasLeft = (thrown: unknown, { raw }: FastifyRequest): boolean =>
  raw.destroyed && !raw.complete && (thrown as FastifyError).code === 'ECONNRESET'

/** The router refuses a target that it cannot read before any hook, so bounds and headers would not apply. */
const neverFound = '/%25'

/** Returns the target to route: its own, or one that is never found if it is no path or cannot be decoded. */
export function routedTarget(target: string): string {
  if (!target.startsWith('/')) return neverFound
  if (!target.includes('%')) return target
  try {
    decodeURIComponent(target.split(/[?#]/, 1)[0] ?? '')
    return target
  } catch {
    return neverFound
  }
}

function unknownTarget(request: FastifyRequest, reply: FastifyReply): ApiError {
  const allowed = methodsOf(request.raw.url?.split('?', 1)[0] ?? '')
  if (allowed.length === 0) return new ApiError('not_found')
  reply.header('allow', allowed.join(', '))
  return new ApiError('method_not_allowed', { details: { allow: allowed } })
}

/**
 * Spends the nonce of a good proof even if the request is refused. If the session is fenced, that is answered
 * instead of a schema error.
 */
async function settle(
  refusal: ApiError,
  request: FastifyRequest,
  beforeRefusal: BeforeRefusal,
): Promise<ApiError> {
  try {
    await beforeRefusal(request, refusal)
    return refusal
  } catch (error) {
    return toApiError(error)
  }
}

/** Seconds for `Retry-After`. "`Retry-After` goes with 429 and 503", in whole seconds. */
export const retryAfter = ({ status, retryAfterMs }: ApiError): number | undefined =>
  retryAfterMs !== undefined && (status === 429 || status === 503)
    ? Math.max(1, Math.ceil(retryAfterMs / 1000))
    : undefined

export function sendRefusal(reply: FastifyReply, refusal: ApiError, requestId: string): FastifyReply {
  const waits = retryAfter(refusal)
  if (waits !== undefined) reply.header('retry-after', waits)
  return reply.code(refusal.status).send(errorBody(refusal, requestId))
}

const pathRules = [...new Set(endpoints.map((each) => each.path))].map((path) => ({
  rule: new RegExp(`^${path.replace(/\{[a-z_]+\}/g, '[^/]+')}$`),
  methods: endpoints.filter((each) => each.path === path).map((each) => each.method),
}))

const methodsOf = (path: string): string[] =>
  isPagePath(path)
    ? ['GET']
    : [...new Set(pathRules.filter(({ rule }) => rule.test(path)).flatMap(({ methods }) => methods))]
