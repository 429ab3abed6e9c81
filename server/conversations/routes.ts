import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { getConversation, listConversations, openConversation } from './actions.ts'

export function conversationRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.conversations.open, ({ caller, body, keyed }) =>
    openConversation(context, caller, body, keyed),
  )
  route(app, context, contract.conversations.list, ({ caller, query }) =>
    listConversations(context, caller, query),
  )
  route(app, context, contract.conversations.get, ({ caller, params }) =>
    getConversation(context, caller, params.id),
  )
}
