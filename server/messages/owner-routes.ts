import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import { acknowledgeAsOwner } from '../acknowledgements/actions.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import {
  getConversationAsOwner,
  listConversationsAsOwner,
  readHistoryAsOwner,
  readOwnerInbox,
  readProjectInbox,
  sendAsOwner,
} from './owner-actions.ts'

const { messages, inbox, conversations } = contract.owner

export function messageOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, messages.send, ({ caller, params, body, keyed }) =>
    sendAsOwner(context, caller, params.id, body, keyed),
  )
  route(app, context, messages.acknowledge, ({ caller, params, body }) =>
    acknowledgeAsOwner(context, caller, params.id, body.message_ids),
  )
  route(app, context, inbox.list, ({ caller, query }) => readOwnerInbox(context, caller, query))
  route(app, context, inbox.ofProject, ({ caller, params, query }) =>
    readProjectInbox(context, caller, params.id, query),
  )
  route(app, context, conversations.list, ({ caller, params, query }) =>
    listConversationsAsOwner(context, caller, params.id, query),
  )
  route(app, context, conversations.get, ({ caller, params }) =>
    getConversationAsOwner(context, caller, params),
  )
  route(app, context, conversations.history, ({ caller, params, query }) =>
    readHistoryAsOwner(context, caller, params, query),
  )
}
