import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import * as actions from './actions.ts'
import { getTask, listTasks, readTimeline } from './queries.ts'

const { tasks } = contract

export function taskRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, tasks.create, ({ caller, body, keyed }) =>
    actions.createTask(context, caller, body, keyed),
  )
  route(app, context, tasks.list, ({ caller, query, request }) => listTasks(context, caller, query, request))
  route(app, context, tasks.get, ({ caller, params }) => getTask(context, caller, params.id))
  route(app, context, tasks.timeline, ({ caller, params, query }) =>
    readTimeline(context, caller, params.id, query),
  )
  route(app, context, tasks.claim, ({ caller, params, body, keyed }) =>
    actions.claimTask(context, caller, params.id, body, keyed),
  )
  route(app, context, tasks.renew, ({ caller, params, body, keyed }) =>
    actions.renewTask(context, caller, params.id, body, keyed),
  )
  route(app, context, tasks.progress, ({ caller, params, body, keyed }) =>
    actions.reportProgress(context, caller, params.id, body, keyed),
  )
  route(app, context, tasks.complete, ({ caller, params, body, keyed }) =>
    actions.completeTask(context, caller, params.id, body, keyed),
  )
  route(app, context, tasks.fail, ({ caller, params, body, keyed }) =>
    actions.failTask(context, caller, params.id, body, keyed),
  )
  route(app, context, tasks.release, ({ caller, params, body, keyed }) =>
    actions.releaseTask(context, caller, params.id, body, keyed),
  )
  route(app, context, tasks.decline, ({ caller, params, body, keyed }) =>
    actions.declineTask(context, caller, params.id, body, keyed),
  )
  route(app, context, tasks.cancel, ({ caller, params, body, keyed }) =>
    actions.cancelTask(context, caller, params.id, body, keyed),
  )
  route(app, context, tasks.stopped, ({ caller, params, body, keyed }) =>
    actions.confirmStopped(context, caller, params.id, body, keyed),
  )
}
