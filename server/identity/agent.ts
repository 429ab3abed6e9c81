/**
 * The proof of an agent's HTTP request.
 *
 * The nonce is spent in the transaction that holds the effect; a refusal in between spends it in one of its own
 * (`settleIdentity`), so that no proof can be used twice whatever was answered.
 *
 * Contract §2 "Order", §3.
 */
import type { FastifyRequest } from 'fastify'
import type { EndpointSpec } from '../../sdk/contract/endpoint.ts'
import type { Context } from '../context.ts'
import { Fault } from '../fault.ts'
import { rawBody } from '../http/raw-body.ts'
import { readAs, spendNonce } from './admission.ts'
import { type Head, type Incoming, proveBody, proveHead, requireHeaders } from './proof.ts'

const heads = new WeakMap<FastifyRequest, Head & { readonly context: Context }>()

const incoming = (request: FastifyRequest): Incoming => ({
  method: request.method,
  target: request.raw.url ?? '',
  rawHeaders: request.raw.rawHeaders,
  address: request.ip,
  requestId: request.id,
})

export async function proveRequestHead(context: Context, request: FastifyRequest): Promise<void> {
  heads.set(request, { ...(await proveHead(context, incoming(request))), context })
}

/** Afterwards `request.caller` is set. */
export async function proveRequestBody(request: FastifyRequest, endpoint: EndpointSpec): Promise<void> {
  const head = heads.get(request)
  if (head === undefined) throw new Fault('unauthenticated')
  const body = { bytes: rawBody(request), endpoint }
  const caller = await proveBody(head.context, incoming(request), head, body)
  request.caller = caller
  head.context.throttle.takeAgent(caller.agent_id)
  requireHeaders(head.presented, endpoint)
}

/**
 * Called for every refusal. Spends the nonce of a good proof that no transaction has spent yet; a replay or a
 * session that is over outranks a schema fault.
 */
export async function settleIdentity(request: FastifyRequest, fault: Fault): Promise<void> {
  const head = heads.get(request)
  const caller = request.caller
  if (head === undefined || caller?.kind !== 'agent') return
  if (fault.code === 'invalid_request') await readAs(head.context, caller, async () => undefined)
  await spendNonce(head.context, caller)
}
