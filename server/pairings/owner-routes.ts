import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { listPairings, setPairing } from './actions.ts'

const { pairings } = contract.owner

export function pairingOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, pairings.set, ({ caller, params, body }) =>
    setPairing(context, caller, params.id, body),
  )
  route(app, context, pairings.list, ({ caller, params, query }) =>
    listPairings(context, caller, params.id, query),
  )
}
