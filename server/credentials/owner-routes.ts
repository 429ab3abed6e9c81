import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { route } from '../route.ts'
import { getCredential, issueLegacy, listCredentials, revokeCredential } from './actions.ts'

const { credentials } = contract.owner

export function credentialOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, credentials.issue, ({ caller, params, body }) =>
    issueLegacy(context, caller, params, body),
  )
  route(app, context, credentials.list, ({ caller, params, query }) =>
    listCredentials(context, caller, params.id, query),
  )
  route(app, context, credentials.get, ({ caller, params }) => getCredential(context, caller, params))
  route(app, context, credentials.revoke, ({ caller, params }) => revokeCredential(context, caller, params))
}
