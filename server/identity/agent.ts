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
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { rawBody } from '../http/raw-body.ts'
import { readAs, spendNonce } from './admission.ts'
import type { Identity } from './identities.ts'
import { type Head, type Incoming, proveBody, proveHead, requireHeaders } from './proof.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of an agent's request, once its head is judged. */
    agentHead: AgentHead | null
  }
}

interface AgentHead {
  readonly context: Context
  readonly call: Incoming
  readonly head: Head
}

const incoming = (request: FastifyRequest): Incoming => ({
  method: request.method,
  target: request.raw.url ?? '',
  rawHeaders: request.raw.rawHeaders,
  address: request.clientAddress,
  requestId: request.id,
})

export async function proveRequestHead(context: Context, request: FastifyRequest): Promise<void> {
  const call = incoming(request)
  request.agentHead = { context, call, head: await proveHead(context, call) }
}

/**
 * The hash that the sender of an unread body says it signed. It leads to no effect by itself, since the node takes
 * bytes only if it is the hash of the offer.
 *
 * @throws invalid_request for what is no hash
 */
export function statedHash({ headers }: FastifyRequest): string | undefined {
  const stated = headers[contentHashHeader.toLowerCase()]
  if (stated === undefined) return undefined
  if (typeof stated === 'string' && /^[0-9a-f]{64}$/.test(stated)) return stated
  const problem = 'must be a SHA-256 in lower-case hex'
  throw new ApiError('invalid_request', {
    message: `${contentHashHeader} ${problem}.`,
    details: { faults: [{ path: `header ${contentHashHeader}`, problem }] },
  })
}

type HashOf = (identity: {
  readonly agent_id: string
  readonly project_id: string
}) => Promise<string | undefined>

/**
 * Afterwards `request.caller` is set. For an unread body the proof is checked over the hash that its sender states, so
 * that the refusal names the fault. If the sender states none, it is checked over the hash that `hashOf` answers.
 */
export async function proveRequestBody(
  request: FastifyRequest,
  endpoint: EndpointSpec,
  hashOf?: HashOf,
): Promise<void> {
  if (request.agentHead === null) throw new ApiError('unauthenticated')
  const { context, call, head } = request.agentHead
  const sha256 =
    hashOf === undefined ? sha256Hex(rawBody(request)) : await unreadHash(request, head.identity, hashOf)
  request.caller = await proveBody(context, call, head, { sha256, endpoint })
  requireHeaders(head.presented, endpoint)
}

async function unreadHash(request: FastifyRequest, identity: Identity, hashOf: HashOf): Promise<string> {
  const known = () => hashOf({ agent_id: identity.agentId, project_id: identity.projectId })
  return statedHash(request) ?? (await known()) ?? sha256Hex(rawBody(request))
}

/**
 * Called for every refusal. Spends the nonce of a good proof that no transaction has spent yet; a replay or a
 * session that is over outranks a schema fault.
 */
export async function settleIdentity(request: FastifyRequest, fault: ApiError): Promise<void> {
  const { agentHead, caller } = request
  if (agentHead === null || caller?.kind !== 'agent') return
  if (fault.code === 'invalid_request') await readAs(agentHead.context, caller, async () => undefined)
  await spendNonce(agentHead.context, caller)
}
