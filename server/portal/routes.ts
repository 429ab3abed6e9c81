/** The owner's page and its files for anybody who reaches the node. Contract §11. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { refuseGetBody, refuseSecondOrigin } from '../http/framing.ts'
import { assetPath, pagePaths } from '../http/page-paths.ts'
import { sendPrebuilt } from '../http/prebuilt.ts'
import { pageFiles } from './files.ts'
import { assetHeaders, pageHeaders } from './headers.ts'

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
        context.throttle.takePublic(clientAddress)
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
