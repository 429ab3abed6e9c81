import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { closeSession, startSession } from './actions.ts'
import { issueChallenge } from './challenges.ts'
import { reportConnectionMode } from './contact.ts'

export function sessionRoutes(app: FastifyInstance, context: Context): void {
  const { sessions, connectionMode } = contract
  route(app, context, sessions.challenge, ({ caller }) => issueChallenge(context, caller))
  route(app, context, sessions.start, ({ caller, body }) => startSession(context, caller, body))
  route(app, context, sessions.close, ({ caller }) => closeSession(context, caller))
  route(app, context, connectionMode.report, ({ caller, body }) =>
    reportConnectionMode(context, caller, body),
  )
}
