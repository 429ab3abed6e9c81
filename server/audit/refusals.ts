/**
 * Records requests that were refused for lack of a right or a scope, so that an owner learns of an agent or an
 * administrator that tries what it may not do.
 *
 * - The actor is proven: a stranger causes no record.
 * - The limiter allows one record an hour for each actor and code.
 *
 * Contract §10 `access.refused`.
 */

import type { FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { nodeLane } from '../database/lanes.ts'
import type { AnyCaller } from '../identity/callers.ts'
import { type Actor, recordAudit } from './store.ts'

const recordedCodes: ReadonlySet<string> = new Set(['not_permitted', 'scope_missing'])
/** Runs a step of a request. If it refuses the request for lack of a right, records that first. */
export async function recordingRefusal<T>(
  context: Context,
  request: FastifyRequest,
  step: () => Promise<T>,
): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof ApiError && recordedCodes.has(error.code))
      await record(context, request.caller, error.code)
    throw error
  }
}

async function record(context: Context, caller: AnyCaller | null, code: string): Promise<void> {
  if (caller === null || caller.kind === 'public') return
  const actor = actorOf(caller)
  if (actor.id === null || !context.refusals.take(actor.id, code)) return
  try {
    const projectId = caller.kind === 'agent' ? caller.project_id : null
    await context.write(projectId ?? nodeLane, (tx) =>
      recordAudit(tx, {
        kind: 'access.refused',
        actor,
        project_id: projectId,
        subject: { type: 'endpoint', id: null },
        details: { code, endpoint: caller.endpoint.id },
      }),
    )
  } catch (error) {
    // The answer does not depend on the record.
    context.log.warn({ err: error }, 'failed to record a refusal')
  }
}

const actorOf = (caller: Exclude<AnyCaller, { kind: 'public' }>): Actor =>
  caller.kind === 'agent'
    ? { kind: 'agent', id: caller.agent_id, name: caller.agent_name, request_id: caller.request_id }
    : { kind: 'owner', id: caller.user_id, name: caller.name, request_id: caller.request_id }
