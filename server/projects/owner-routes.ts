import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { changeProject, createProject, deleteProject, listProjects, setProjectState } from './actions.ts'

const { projects } = contract.owner

export function projectOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, projects.list, ({ caller, query }) => listProjects(context, caller, query))
  route(app, context, projects.create, ({ caller, body }) => createProject(context, caller, body))
  route(app, context, projects.setState, ({ caller, params, body }) =>
    setProjectState(context, caller, params.id, body),
  )
  route(app, context, projects.change, ({ caller, params, body }) =>
    changeProject(context, caller, params.id, body),
  )
  route(app, context, projects.delete, ({ caller, params, body }) =>
    deleteProject(context, caller, params.id, body),
  )
}
