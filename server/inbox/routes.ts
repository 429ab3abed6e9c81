import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { longPoll } from '../delivery/long-poll.ts'
import { route } from '../route.ts'

export function inboxRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.inbox.read, (call) => longPoll(context, call))
}
