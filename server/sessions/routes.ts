import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { closeSession, startSession } from './actions.ts'

export function sessionRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.sessions.start, ({ caller, body }) => startSession(context, caller, body))
  route(app, context, contract.sessions.close, ({ caller }) => closeSession(context, caller))
}
