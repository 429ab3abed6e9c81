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
    whileConnected(request, (disconnected) => waitForEvents(context, caller, params.id, query, disconnected)),
  )
}

/** Runs `act` with a signal that is aborted if the client disconnects before its answer. */
async function whileConnected<T>(
  request: FastifyRequest,
  act: (disconnected: AbortSignal) => Promise<T>,
): Promise<T> {
  const disconnected = new AbortController()
  if (hasLeft(request)) disconnected.abort()
  const stopWatching = onLeaving(request, () => disconnected.abort())
  try {
    return await act(disconnected.signal)
  } finally {
    stopWatching()
  }
}
