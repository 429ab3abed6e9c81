import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import { build } from '../build.ts'
import type { Context } from '../context.ts'
import { type Prebuilt, prebuild, sendPrebuilt } from '../http/prebuilt.ts'
import { route, takingOver } from '../route.ts'
import { readiness } from './readiness.ts'

export function healthRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.health.get, async () => ({
    status: 'ok' as const,
    service: 'agent-bridge' as const,
    stage: context.config.stage,
    build,
    server_id: context.serverId,
    portal_origin: context.portalOrigin(),
  }))
  route(app, context, contract.health.ready, async ({ request, reply }) => {
    const answer = await readiness(context, request.log)
    reply.code(answer.ready ? 200 : 503)
    if (!answer.ready) reply.header('retry-after', '1')
    return answer
  })
  let description: Prebuilt | undefined
  takingOver(app, context, contract.health.openapi, async ({ request, reply }) => {
    // Built on first use, because all routes must be registered before.
    description ??= prebuild(app.swagger())
    await sendPrebuilt(request, reply, description)
  })
}
