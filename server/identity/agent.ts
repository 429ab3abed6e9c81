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
import { contentHashHeader } from '../../sdk/contract/helper/endpoints.ts'
import { sha256Hex } from '../../sdk/signing/canonical.ts'
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
  address: request.clientAddress,
  requestId: request.id,
})

export async function proveRequestHead(context: Context, request: FastifyRequest): Promise<void> {
  heads.set(request, { ...(await proveHead(context, incoming(request))), context })
}

/** Of a body that is not read: what its sender says that it signed. It leads to a refusal only, never to an effect. */
function statedHash({ headers }: FastifyRequest): string | undefined {
  const stated = headers[contentHashHeader.toLowerCase()]
  return typeof stated === 'string' && /^[0-9a-f]{64}$/.test(stated) ? stated : undefined
}

type HashOf = (identity: {
  readonly agent_id: string
  readonly project_id: string
}) => Promise<string | undefined>

/**
 * Afterwards `request.caller` is set. `hashOf` tells what a body that nobody has read must hash to; where nothing tells,
 * the hash that the sender states is the one that it signed, so that its refusal is about what is wrong.
 */
export async function proveRequestBody(
  request: FastifyRequest,
  endpoint: EndpointSpec,
  hashOf?: HashOf,
): Promise<void> {
  const head = heads.get(request)
  if (head === undefined) throw new Fault('unauthenticated')
  const { agentId: agent_id, projectId: project_id } = head.identity
  const known = await hashOf?.({ agent_id, project_id })
  const sha256 = known ?? (hashOf && statedHash(request)) ?? sha256Hex(rawBody(request))
  const body = { sha256, endpoint }
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
