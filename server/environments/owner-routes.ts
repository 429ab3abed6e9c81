import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { changeEnvironment, createEnvironment, getEnvironment, listEnvironments } from './actions.ts'

const { environments } = contract.owner

export function environmentOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, environments.create, ({ caller, params, body }) =>
    createEnvironment(context, caller, params.id, body),
  )
  route(app, context, environments.list, ({ caller, params, query }) =>
    listEnvironments(context, caller, params.id, query),
  )
  route(app, context, environments.get, ({ caller, params }) => getEnvironment(context, caller, params))
  route(app, context, environments.change, ({ caller, params, body }) =>
    changeEnvironment(context, caller, params, body),
  )
}
