import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import * as actions from './actions.ts'
import { issueTakeover } from './takeovers.ts'

const { agents, takeovers } = contract.owner

export function agentOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, agents.create, ({ caller, params, body }) =>
    actions.createAgent(context, caller, params.id, body),
  )
  route(app, context, agents.list, ({ caller, params, query }) =>
    actions.listAgents(context, caller, params.id, query),
  )
  route(app, context, agents.get, ({ caller, params }) => actions.getAgent(context, caller, params))
  route(app, context, agents.setState, ({ caller, params, body }) =>
    actions.setAgentState(context, caller, params, body),
  )
  route(app, context, agents.rename, ({ caller, params, body }) =>
    actions.renameAgent(context, caller, params, body),
  )
  route(app, context, agents.change, ({ caller, params, body }) =>
    actions.changeAgent(context, caller, params, body),
  )
  route(app, context, agents.setInstructions, ({ caller, params, body }) =>
    actions.saveInstructions(context, caller, params, body),
  )
  route(app, context, agents.instructions, ({ caller, params }) =>
    actions.previewInstructions(context, caller, params),
  )
  route(app, context, takeovers.issue, ({ caller, params, body }) =>
    issueTakeover(context, caller, params, body),
  )
}
