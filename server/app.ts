/** The Fastify server: all hooks and routes, registered in reading order. */
import { type FastifyInstance, fastify, LogController } from 'fastify'
import { contract } from '../sdk/contract/index.ts'
import { limits } from '../sdk/contract/limits.ts'
import { acknowledgementRoutes } from './acknowledgements/routes.ts'
import { administratorOwnerRoutes } from './administrators/owner-routes.ts'
import { agentOwnerRoutes } from './agents/owner-routes.ts'
import { ApiError } from './api-error.ts'
import { auditOwnerRoutes } from './audit-reading/owner-routes.ts'
import { bootstrapRoutes } from './bootstrap/routes.ts'
import { clientRoutes } from './client/routes.ts'
import type { Context } from './context.ts'
import { conversationRoutes } from './conversations/routes.ts'
import { credentialOwnerRoutes } from './credentials/owner-routes.ts'
import { enrollmentOwnerRoutes, enrollmentRoutes } from './enrollments/routes.ts'
import { environmentOwnerRoutes } from './environments/owner-routes.ts'
import { guideRoutes } from './guides/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { useAnswerDeadline } from './http/answer-deadline.ts'
import { useClientAddress } from './http/client-address.ts'
import { closeUnread, statusOnly } from './http/close-connection.ts'
import { useUnsentBound } from './http/connection-bounds.ts'
import { routedTarget, useErrorHandler } from './http/errors.ts'
import { useFraming } from './http/framing.ts'
import { createListener, maxHeaderBytes } from './http/listener.ts'
import { logEnding, loggerOptions, requestLogger } from './http/log.ts'
import { useOpenapi } from './http/openapi.ts'
import { useEndings } from './http/outcomes.ts'
import { useRawBodies } from './http/raw-body.ts'
import { requestIds } from './http/request-ids.ts'
import { type AnswerHeaders, useResponseHeaders } from './http/responses.ts'
import { useContractValidation } from './http/validation.ts'
import { settleIdentity } from './identity/agent.ts'
import { inboxRoutes } from './inbox/routes.ts'
import { socketRoute } from './inbox/socket.ts'
import type { Certificate } from './listening/certificate.ts'
import type { LogStream } from './log-stream.ts'
import { messageOwnerRoutes } from './messages/owner-routes.ts'
import { messageRoutes } from './messages/routes.ts'
import { countEnding } from './metrics/meters.ts'
import { ownerRoutes } from './owners/owner-routes.ts'
import { pairingOwnerRoutes } from './pairings/owner-routes.ts'
import { peerRoutes } from './peers/routes.ts'
import { portalRoutes, useNotFoundPage } from './portal/routes.ts'
import { projectOwnerRoutes } from './projects/owner-routes.ts'
import { recipientKeyOwnerRoutes, recipientKeyRoutes } from './recipient-keys/routes.ts'
import { retryAfterMs } from './retry-after.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { snapshotOwnerRoutes } from './snapshots/owner-routes.ts'
import { taskOwnerRoutes } from './tasks/owner-routes.ts'
import { taskRoutes } from './tasks/routes.ts'
import { telemetryRoutes } from './telemetry/routes.ts'
import { transferOwnerRoutes } from './transfers/owner-routes.ts'
import { packageRoutes } from './transfers/packages/routes.ts'
import { transferRoutes } from './transfers/routes.ts'

export interface AppOptions {
  readonly logLevel: string
  /** Default: standard error. */
  readonly logTo?: LogStream | undefined
  readonly random: (bytes: number) => Buffer
  readonly answerHeaders: AnswerHeaders
  /** If given, the server speaks TLS. */
  readonly certificate?: Certificate | undefined
}

/**
 * Status that answers a request which Node's HTTP parser rejected, by Node's error code. All others get 400.
 */
const clientErrors: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/**
 * Creates the Fastify server without routes. The context is built afterwards, because it logs through this
 * server.
 */
export function createApp({
  logLevel,
  logTo,
  random,
  answerHeaders,
  certificate,
}: AppOptions): FastifyInstance {
  const app = fastify({
    logger: loggerOptions(logLevel, logTo),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    childLoggerFactory: requestLogger,
    genReqId: requestIds(random),
    requestIdHeader: false,
    bodyLimit: limits.jsonBodyBytes,
    exposeHeadRoutes: false,
    // Path parameters of any length reach schema validation. Node already limits the size of the request
    // line.
    routerOptions: { maxParamLength: maxHeaderBytes },
    rewriteUrl: ({ url = '' }) => routedTarget(url),
    return503OnClosing: false,
    serverFactory: (handler) => createListener(handler, certificate),
    clientErrorHandler(error, socket) {
      const status = clientErrors[(error as NodeJS.ErrnoException).code ?? ''] ?? 400
      closeUnread(socket, statusOnly(status, answerHeaders))
    },
  })
  return app.decorate('answerHeaders', answerHeaders)
}

export async function useRoutes(app: FastifyInstance, context: Context): Promise<void> {
  app.decorateRequest('caller', null)
  app.decorateRequest('agentHead', null)
  app.decorateRequest('keyed', null)
  useEndings(app, [logEnding(app.log), countEnding(context)])
  useResponseHeaders(app)
  useClientAddress(app, (raw) => context.clientAddress(raw))
  useAnswerDeadline(app, () => context.monotonicMs())
  useUnsentBound(app)
  useFraming(app)
  useNotFoundPage(app, context)
  useErrorHandler(app, settleIdentity)
  app.addHook('onRequest', (request, _reply, done) => {
    // The health endpoints still answer while the server stops, because supervisors poll them then.
    if (context.stopping.aborted && !isHealthCheck(request.url)) {
      throw new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart })
    }
    done()
  })
  // The client of an ended wait then connects again, to another node if there is one.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (context.stopping.aborted) reply.header('connection', 'close')
    done()
  })
  useRawBodies(app)
  useContractValidation(app)
  await useOpenapi(app)
  await app.register(async (api) => {
    healthRoutes(api, context)
    clientRoutes(api, context)
    portalRoutes(api, context)

    enrollmentRoutes(api, context)
    bootstrapRoutes(api, context)
    guideRoutes(api, context)
    sessionRoutes(api, context)
    peerRoutes(api, context)
    recipientKeyRoutes(api, context)
    conversationRoutes(api, context)
    messageRoutes(api, context)
    inboxRoutes(api, context)
    socketRoute(api, context)
    acknowledgementRoutes(api, context)
    taskRoutes(api, context)
    transferRoutes(api, context)
    packageRoutes(api, context)

    ownerRoutes(api, context)
    administratorOwnerRoutes(api, context)
    projectOwnerRoutes(api, context)
    environmentOwnerRoutes(api, context)
    agentOwnerRoutes(api, context)
    pairingOwnerRoutes(api, context)
    enrollmentOwnerRoutes(api, context)
    credentialOwnerRoutes(api, context)
    recipientKeyOwnerRoutes(api, context)
    messageOwnerRoutes(api, context)
    transferOwnerRoutes(api, context)
    auditOwnerRoutes(api, context)
    taskOwnerRoutes(api, context)
    snapshotOwnerRoutes(api, context)
    telemetryRoutes(api, context)
  })
}

const isHealthCheck = (url: string): boolean =>
  url === contract.health.get.path || url === contract.health.ready.path
