import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { readRecipientKey, registerRecipientKey, setRecipientKey } from './actions.ts'

export function recipientKeyRoutes(app: FastifyInstance, context: Context): void {
  const { recipientKeys } = contract
  route(app, context, recipientKeys.register, ({ caller, body }) =>
    registerRecipientKey(context, caller, body),
  )
  route(app, context, recipientKeys.ofConversation, ({ caller, params }) =>
    readRecipientKey(context, caller, params.id),
  )
}

export function recipientKeyOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.owner.recipientKeys.set, ({ caller, params, body }) =>
    setRecipientKey(context, caller, params, body),
  )
}
