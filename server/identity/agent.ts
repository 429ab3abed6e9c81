/**
 * Verifies the proof of an agent's HTTP request.
 *
 * The nonce is spent in the transaction of the effect. If the request is refused before, `settleIdentity`
 * spends it in a separate transaction, so that no proof can be used twice, whatever the answer was.
 *
 * Contract §2 "Order", §3.
 */
import type { FastifyRequest } from 'fastify'
import type { EndpointSpec } from '../../sdk/contract/endpoint.ts'
import { contentHashHeader } from '../../sdk/contract/helper/endpoints.ts'
import { sha256Hex } from '../../sdk/signing/canonical.ts'
import { ApiError } from '../api-error.ts'
import { rawBody } from '../http/raw-body.ts'
import { readAs, spendNonce } from './admission.ts'
import type { Identity } from './identities.ts'
import { type Head, type Incoming, proveBody, proveHead, requireHeaders } from './proof.ts'
import type { IdentityServices } from './services.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for an agent's request once its headers have been checked. */
    agentHead: AgentHead | null
  }
}

interface AgentHead {
  readonly context: IdentityServices
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

export async function proveRequestHead(context: IdentityServices, request: FastifyRequest): Promise<void> {
  const call = incoming(request)
  request.agentHead = { context, call, head: await proveHead(context, call) }
}

/**
 * The hash of an unread body that its sender claims to have signed. It is safe to trust before the body is
 * read, because the node stores bytes only if they match the hash in the offer.
 *
 * @throws invalid_request if the value is not a hash
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
 * Verifies the proof and sets `request.caller`. For an unread body the proof is checked over the hash that
 * the sender states, so that a refusal names the real fault. If the sender states none, it is checked over
 * the hash that `hashOf` returns.
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
  const offeredHash = () => hashOf({ agent_id: identity.agentId, project_id: identity.projectId })
  return statedHash(request) ?? (await offeredHash()) ?? sha256Hex(rawBody(request))
}

/**
 * Called for every refusal. Spends the nonce of a good proof if no transaction has spent it yet. A replay or
 * an ended session takes precedence over a schema error.
 */
export async function settleIdentity(request: FastifyRequest, refusal: ApiError): Promise<void> {
  const { agentHead, caller } = request
  if (agentHead === null || caller?.kind !== 'agent') return
  if (refusal.code === 'invalid_request') await readAs(agentHead.context, caller, async () => undefined)
  await spendNonce(agentHead.context, caller)
}
