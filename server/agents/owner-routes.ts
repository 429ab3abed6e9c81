import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { createAgent, getAgent, listAgents, setAgentState } from './actions.ts'

const { agents } = contract.owner

export function agentOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, agents.create, ({ caller, params, body }) =>
    createAgent(context, caller, params.id, body),
  )
  route(app, context, agents.list, ({ caller, params, query }) =>
    listAgents(context, caller, params.id, query),
  )
  route(app, context, agents.get, ({ caller, params }) => getAgent(context, caller, params))
  route(app, context, agents.setState, ({ caller, params, body }) =>
    setAgentState(context, caller, params, body),
  )
}
