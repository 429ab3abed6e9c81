import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { getSnapshot } from './actions.ts'

const { snapshots } = contract.owner

export function snapshotOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, snapshots.get, ({ caller, params }) => getSnapshot(context, caller, params.id))
}
