import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import {
  acceptTransfer,
  cancelTransfer,
  confirmReceipt,
  declineTransfer,
  failTransfer,
  offerTransfer,
  reportCleanup,
} from './actions.ts'
import { depositEndpoint, readEndpoint } from './direct.ts'
import { getTransfer, listTransfers } from './queries.ts'

const { transfers } = contract

export function transferRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, transfers.create, ({ caller, body, keyed }) =>
    offerTransfer(context, caller, body, keyed),
  )
  route(app, context, transfers.list, ({ caller, query }) => listTransfers(context, caller, query))
  route(app, context, transfers.get, ({ caller, params }) => getTransfer(context, caller, params.id))
  route(app, context, transfers.accept, ({ caller, params }) => acceptTransfer(context, caller, params.id))
  route(app, context, transfers.decline, ({ caller, params, body }) =>
    declineTransfer(context, caller, params.id, body),
  )
  route(app, context, transfers.cancel, ({ caller, params, body }) =>
    cancelTransfer(context, caller, params.id, body),
  )
  route(app, context, transfers.fail, ({ caller, params, body }) =>
    failTransfer(context, caller, params.id, body),
  )
  route(app, context, transfers.receipt, ({ caller, params, body }) =>
    confirmReceipt(context, caller, params.id, body),
  )
  route(app, context, transfers.cleanup, ({ caller, params }) => reportCleanup(context, caller, params.id))
  route(app, context, transfers.deposit, ({ caller, params, body }) =>
    depositEndpoint(context, caller, params.id, body),
  )
  route(app, context, transfers.secret, ({ caller, params }) => readEndpoint(context, caller, params.id))
}
