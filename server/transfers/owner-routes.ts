import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { cancelTransferAsOwner, getTransferAsOwner, listTransfersAsOwner } from './owner-actions.ts'

const { transfers } = contract.owner

export function transferOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, transfers.list, ({ caller, params, query }) =>
    listTransfersAsOwner(context, caller, params.id, query),
  )
  route(app, context, transfers.get, ({ caller, params }) => getTransferAsOwner(context, caller, params))
  route(app, context, transfers.cancel, ({ caller, params, body }) =>
    cancelTransferAsOwner(context, caller, params, body),
  )
}
