import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { getMessage, readHistory, sendMessage } from './actions.ts'

export function messageRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.messages.send, ({ caller, body, keyed }) =>
    sendMessage(context, caller, body, keyed),
  )
  route(app, context, contract.messages.get, ({ caller, params }) => getMessage(context, caller, params.id))
  route(app, context, contract.conversations.history, ({ caller, params, query }) =>
    readHistory(context, caller, params.id, query),
  )
}
