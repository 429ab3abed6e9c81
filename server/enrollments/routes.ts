import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import * as actions from './actions.ts'

export function enrollmentRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.enrollments.claim, ({ caller, body, request }) => {
    const device = request.headers['x-bridge-device']
    return actions.claimEnrollment(context, caller, body, typeof device === 'string' ? device : undefined)
  })
}

export function enrollmentOwnerRoutes(app: FastifyInstance, context: Context): void {
  const { enrollments } = contract.owner
  route(app, context, enrollments.create, ({ caller, params, body }) =>
    actions.createEnrollment(context, caller, params, body),
  )
  route(app, context, enrollments.get, ({ caller, params }) => actions.getEnrollment(context, caller, params))
  route(app, context, enrollments.list, ({ caller, params, query }) =>
    actions.listEnrollments(context, caller, params.id, query),
  )
  route(app, context, enrollments.read, ({ caller, params }) =>
    actions.readEnrollment(context, caller, params),
  )
  route(app, context, enrollments.revoke, ({ caller, params }) =>
    actions.revokeEnrollment(context, caller, params),
  )
}
