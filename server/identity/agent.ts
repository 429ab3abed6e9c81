/**
 * Proving that a request comes from an agent, in the contract's order.
 *
 * Before the body is read: header shape, credential, time. After it: proof. The nonce is spent in the transaction
 * that holds the effect; a refusal in between spends it in one of its own (`settleIdentity`), so that no proof can
 * be used twice whatever was answered.
 *
 * Contract §2 "Order", §3.
 */
import type { FastifyRequest } from 'fastify'
import type { EndpointSpec } from '../../sdk/contract/endpoint.ts'
import { sha256Hex } from '../../sdk/signing/canonical.ts'
import type { Context } from '../context.ts'
import { Fault } from '../fault.ts'
import { rawBody } from '../http/raw-body.ts'
import { readAs, spendNonce } from './admission.ts'
import type { AgentCaller } from './callers.ts'
import type { Identity } from './identities.ts'
import { type Presented, presented } from './raw-headers.ts'
import { checkHead, checkProof } from './verifier.ts'

interface Head {
  readonly context: Context
  readonly presented: Presented
  readonly identity: Identity
}

const heads = new WeakMap<FastifyRequest, Head>()

/** Header shape, credential and time; nothing of the body has been read. */
export async function proveHead(context: Context, request: FastifyRequest): Promise<void> {
  try {
    const headers = presented(request.raw.rawHeaders)
    const now = context.clock()
    const identity = await context.identities.find(headers.credentialId, now)
    const input = { presented: headers, identity, now, floor: context.replayFloor() }
    checkHead(input)
    heads.set(request, { context, presented: headers, identity: input.identity as Identity })
  } catch (error) {
    throw counted(context, request, error)
  }
}

/** A wrong clock is no attempt at another's identity; everything else that fails is counted. */
function counted(context: Context, request: FastifyRequest, error: unknown): unknown {
  if (error instanceof Fault && error.status === 401 && error.code !== 'clock_skew') {
    context.throttle.countFailure(request.ip)
  }
  return error
}

/** After the proof: whether one was there is part of what was signed, so a removed one is a wrong proof. */
function requireHeaders(headers: Presented, endpoint: EndpointSpec): void {
  if (endpoint.caller === 'agent' && headers.session === undefined) {
    throw missing('X-Bridge-Session', 'must name the session; start one first')
  }
  if (endpoint.idempotent && headers.idempotencyKey === undefined) {
    throw missing('Idempotency-Key', 'is required: 8 to 128 characters of A-Z a-z 0-9 _ . : -')
  }
}

const missing = (name: string, problem: string) =>
  new Fault('invalid_request', {
    message: `${name} ${problem}.`,
    details: { faults: [{ path: `header ${name}`, problem }] },
  })

/** The proof over the bytes of the body. Afterwards `request.caller` is set. */
export async function proveBody(request: FastifyRequest, endpoint: EndpointSpec): Promise<AgentCaller> {
  const head = heads.get(request)
  if (head === undefined) throw new Fault('unauthenticated')
  const { context, presented: headers, identity } = head
  try {
    await checkProof({
      presented: headers,
      identity,
      serverId: context.serverId,
      method: request.method,
      target: request.raw.url ?? '',
      bodySha256: sha256Hex(rawBody(request)),
    })
  } catch (error) {
    throw counted(context, request, error)
  }
  const caller: AgentCaller = {
    kind: 'agent',
    agent_id: identity.agentId,
    agent_name: identity.agentName,
    project_id: identity.projectId,
    credential_id: identity.credentialId,
    session_id: endpoint.caller === 'agent' ? headers.session : undefined,
    endpoint,
    request_id: request.id,
    nonce:
      headers.nonce === undefined || identity.binding === 'legacy'
        ? undefined
        : { credentialId: identity.credentialId, nonce: headers.nonce, signedAt: Number(headers.time) },
  }
  request.caller = caller
  context.throttle.takeAgent(caller.agent_id)
  requireHeaders(headers, endpoint)
  return caller
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
