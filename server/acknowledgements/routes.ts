import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { acknowledge } from './actions.ts'

export function acknowledgementRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.acknowledgements.create, ({ caller, body }) =>
    acknowledge(context, caller, body.message_ids),
  )
}
