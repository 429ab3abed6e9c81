import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { readBootstrap } from './actions.ts'

export function bootstrapRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.bootstrap.get, ({ caller }) => readBootstrap(context, caller))
}
