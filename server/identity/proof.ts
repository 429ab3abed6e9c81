/**
 * Proves that a call comes from an agent, over an HTTP request or the first frame of a socket.
 *
 * Two steps, in the contract's order: header shape, credential and time before the body is read, then the
 * proof.
 *
 * Contract §2 "Order", §3.
 */
import type { EndpointSpec } from '../../sdk/contract/endpoint.ts'
import type { ErrorCode } from '../../sdk/contract/errors.ts'
import { ApiError } from '../api-error.ts'
import type { AgentCaller } from './callers.ts'
import type { Identity } from './identities.ts'
import { type Presented, presented } from './raw-headers.ts'
import type { IdentityServices } from './services.ts'
import { checkHead, checkProof } from './verifier.ts'

/** A call as received, before any check. */
export interface Incoming {
  readonly method: string
  readonly target: string
  readonly rawHeaders: readonly string[]
  readonly address: string
  readonly requestId: string
}

export interface Head {
  readonly presented: Presented
  readonly identity: Identity
}

/** Checks header shape, credential and time, before the body is read. */
export async function proveHead(context: IdentityServices, incoming: Incoming): Promise<Head> {
  try {
    const headers = presented(incoming.rawHeaders)
    const now = context.clock()
    const identity = await context.identities.find(headers.credentialId, now)
    const input = { presented: headers, identity, now, floor: context.replayFloor() }
    checkHead(input)
    return { presented: headers, identity: input.identity as Identity }
  } catch (error) {
    throw counted(context, incoming, error)
  }
}

/**
 * Refusals that only tell a known identity about itself. They are not counted as failed authentications, and
 * they are answered even if the address has too many of those.
 */
const notCounted: ReadonlySet<ErrorCode> = new Set([
  'clock_skew',
  'credential_revoked',
  'credential_expired',
  'device_mismatch',
])

/** Counts all other failures, because each may be an attempt to use another identity. */
function counted(context: IdentityServices, incoming: Incoming, error: unknown): unknown {
  if (error instanceof ApiError && error.status === 401 && !notCounted.has(error.code)) {
    context.throttle.countFailure('proof', incoming.address)
  }
  return error
}

/**
 * Runs after the proof, because absent headers are signed as `-`: a request from which one was removed has a
 * wrong proof.
 */
export function requireHeaders(headers: Presented, endpoint: EndpointSpec): void {
  if (endpoint.caller === 'agent' && headers.session === undefined) {
    throw missing('X-Bridge-Session', 'must be the id of a session; start a session first')
  }
  if (endpoint.idempotent && headers.idempotencyKey === undefined) {
    throw missing('Idempotency-Key', 'is required: 8 to 128 characters of A-Z a-z 0-9 _ . : -')
  }
}

const missing = (name: string, problem: string) =>
  new ApiError('invalid_request', {
    message: `${name} ${problem}.`,
    details: { faults: [{ path: `header ${name}`, problem }] },
  })

/**
 * Verifies the proof over the hash of the body. The nonce is not spent and the rate not charged yet.
 *
 * @throws signature_invalid; rate_limited if the address has too many failed proofs
 */
export async function proveBody(
  context: IdentityServices,
  incoming: Incoming,
  { presented: headers, identity }: Head,
  body: { readonly sha256: string; readonly endpoint: EndpointSpec },
): Promise<AgentCaller> {
  const { method, target } = incoming
  try {
    const request = { serverId: context.serverId, method, target, bodySha256: body.sha256 }
    await checkProof({ presented: headers, identity, ...request })
  } catch (error) {
    throw counted(context, incoming, error)
  }
  return {
    kind: 'agent',
    agent_id: identity.agentId,
    agent_name: identity.agentName,
    project_id: identity.projectId,
    credential_id: identity.credentialId,
    session_id: body.endpoint.caller === 'agent' ? headers.session : undefined,
    device: headers.device,
    endpoint: body.endpoint,
    request_id: incoming.requestId,
    address: incoming.address,
    isNew: true,
    nonce:
      headers.nonce === undefined || identity.binding === 'legacy'
        ? undefined
        : {
            credentialId: identity.credentialId,
            nonce: headers.nonce,
            signedAt: Number(headers.time),
          },
  }
}
