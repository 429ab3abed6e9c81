import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { claimEnrollment, createEnrollment, getEnrollment } from './actions.ts'

export function enrollmentRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.enrollments.claim, ({ caller, body, request }) => {
    const device = request.headers['x-bridge-device']
    return claimEnrollment(context, caller, body, typeof device === 'string' ? device : undefined)
  })
}

export function enrollmentOwnerRoutes(app: FastifyInstance, context: Context): void {
  const { enrollments } = contract.owner
  route(app, context, enrollments.create, ({ caller, params, body }) =>
    createEnrollment(context, caller, params, body),
  )
  route(app, context, enrollments.get, ({ caller, params }) => getEnrollment(context, caller, params))
}
