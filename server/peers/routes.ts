import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { listPeers } from './actions.ts'

export function peerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.peers.list, ({ caller, query }) => listPeers(context, caller, query))
}
