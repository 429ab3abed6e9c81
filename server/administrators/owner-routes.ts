import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import * as actions from './actions.ts'

const { administrators } = contract.owner

export function administratorOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, administrators.list, ({ caller, query }) =>
    actions.listAdministrators(context, caller, query),
  )
  route(app, context, administrators.create, ({ caller, body }) =>
    actions.createAdministrator(context, caller, body),
  )
  route(app, context, administrators.link, ({ caller, params, body }) =>
    actions.linkAdministrator(context, caller, params.id, body),
  )
  route(app, context, administrators.assign, ({ caller, params, body }) =>
    actions.assignProject(context, caller, params.id, body),
  )
  route(app, context, administrators.setState, ({ caller, params, body }) =>
    actions.setAdministratorState(context, caller, params.id, body),
  )
}
