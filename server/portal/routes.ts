/** The owner's page and its files for anybody who reaches the node. Contract §11. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { refuseGetBody, refuseSecondOrigin } from '../http/framing.ts'
import { assetPath, pagePaths } from '../http/page-paths.ts'
import { sendPrebuilt } from '../http/prebuilt.ts'
import { pageFiles } from './files.ts'
import { assetHeaders, pageHeaders } from './headers.ts'

/** Paths of programs, whose answers are JSON for every caller. */
const ofPrograms = /^\/(api|assets|client|health)(\/|$)/

/**
 * Answers a browser that opens an unknown path with the page, which says so. The status is 404. Must run before the
 * hook that answers unknown paths.
 */
export function useNotFoundPage(app: FastifyInstance, context: Context): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404 || !isNavigation(request)) return done()
    refuseSecondOrigin(request.raw)
    refuseGetBody(request.raw)
    context.throttle.takePublic(request.clientAddress, 'page')
    send(request, reply.code(404), 'index.html', {}).catch(done)
  })
}

const isNavigation = ({ method, url, headers: { accept = '' } }: FastifyRequest): boolean =>
  method === 'GET' &&
  /(^|,)\s*text\/html\s*(,|;|$)/.test(accept) &&
  !ofPrograms.test(url.split('?', 1)[0] ?? '')

export function portalRoutes(app: FastifyInstance, context: Context): void {
  const get = (url: string, handler: RouteHandlerMethod) =>
    app.route({
      method: 'GET',
      url,
      // The OpenAPI document describes the API only.
      schema: { hide: true },
      onRequest: async ({ raw, clientAddress }) => {
        refuseSecondOrigin(raw)
        refuseGetBody(raw)
        context.throttle.takePublic(clientAddress, 'page')
      },
      handler,
    })
  for (const path of pagePaths) get(path, (request, reply) => send(request, reply, 'index.html', {}))
  get(assetPath, (request, reply) =>
    send(request, reply, (request.params as { name: string }).name, assetHeaders),
  )
}

/** @throws not_found */
async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  headers: Readonly<Record<string, string>>,
): Promise<FastifyReply> {
  const file = (await pageFiles()).get(name)
  const isPage = headers !== assetHeaders
  if (file === undefined || (name === 'index.html' && !isPage)) throw new ApiError('not_found')
  reply.headers({ ...pageHeaders, ...headers })
  return sendPrebuilt(request, reply, file.answer, file.type)
}
