import type { FastifyInstance, FastifyRequest } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import type { Context } from '../context.ts'
import { hasLeft, onLeaving } from '../http/client-left.ts'
import { route } from '../route.ts'
import { getAuditRecord, listAudit, listNodeAudit, waitForEvents } from './actions.ts'

const { audit } = contract.owner

export function auditOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, audit.list, ({ caller, params, query }) => listAudit(context, caller, params.id, query))
  route(app, context, audit.get, ({ caller, params }) => getAuditRecord(context, caller, params))
  route(app, context, audit.node, ({ caller, query }) => listNodeAudit(context, caller, query))
  route(app, context, audit.events, ({ caller, params, query, request }) =>
    whileConnected(request, (gone) => waitForEvents(context, caller, params.id, query, gone)),
  )
}

/** The signal is aborted when the client goes away before its answer. */
async function whileConnected<T>(
  request: FastifyRequest,
  act: (gone: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController()
  if (hasLeft(request)) gone.abort()
  const stay = onLeaving(request, () => gone.abort())
  try {
    return await act(gone.signal)
  } finally {
    stay()
  }
}
