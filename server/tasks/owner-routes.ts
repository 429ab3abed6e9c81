import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import * as actions from './owner-actions.ts'

const { tasks } = contract.owner

export function taskOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, tasks.create, ({ caller, params, body, keyed }) =>
    actions.createTaskAsOwner(context, caller, params.id, body, keyed),
  )
  route(app, context, tasks.list, ({ caller, params, query }) =>
    actions.listTasksAsOwner(context, caller, params.id, query),
  )
  route(app, context, tasks.get, ({ caller, params }) => actions.getTaskAsOwner(context, caller, params))
  route(app, context, tasks.timeline, ({ caller, params, query }) =>
    actions.readTimelineAsOwner(context, caller, params, query),
  )
  route(app, context, tasks.cancel, ({ caller, params, body, keyed }) =>
    actions.cancelTaskAsOwner(context, caller, params, body, keyed),
  )
}
