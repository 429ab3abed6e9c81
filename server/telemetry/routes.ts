import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { listTelemetry, readHostHistory, reportHost } from './actions.ts'

export function telemetryRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.telemetry.report, async ({ body }) => reportHost(context, body))
  route(app, context, contract.owner.telemetry.list, ({ caller }) => listTelemetry(context, caller))
  route(app, context, contract.owner.telemetry.history, ({ caller, query }) =>
    readHostHistory(context, caller, query),
  )
}
