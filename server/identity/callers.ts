/** The proven caller of a request. `agent.ts` and `owner.ts` set it, `route.ts` reads it. */
import type { Caller, EndpointSpec, Scope } from '../../sdk/contract/endpoint.ts'
import type { Nonce } from '../database/nonces.ts'

export interface AgentCaller {
  readonly kind: 'agent'
  readonly agent_id: string
  readonly agent_name: string
  readonly project_id: string
  readonly credential_id: string
  /** Undefined only at endpoints that need no session. */
  readonly session_id: string | undefined
  /** The X-Bridge-Device header. Its machine and installation have been compared with the enrolled ones. */
  readonly device: string | undefined
  readonly endpoint: EndpointSpec
  readonly request_id: string
  readonly address: string
  /** The proof's nonce until a transaction spends it. Undefined for a legacy credential. */
  nonce: Nonce | undefined
  /**
   * True until the first transaction of this request. A long-poll reads several times, but only its first
   * transaction spends the nonce and records contact.
   */
  isNew: boolean
}

export interface OwnerCaller {
  readonly kind: 'owner'
  readonly user_id: string
  readonly name: string
  readonly role: 'owner' | 'administrator'
  readonly session_id: string
  /** Hash of the token that the request carried. A confirmation during the request replaces that token. */
  readonly token_sha256: Buffer
  readonly endpoint: EndpointSpec
  readonly request_id: string
}

export interface PublicCaller {
  readonly kind: 'public'
  readonly address: string
  readonly user_agent: string
  readonly endpoint: EndpointSpec
  readonly request_id: string
}

export type CallerOf<C extends Caller> = C extends 'agent' | 'agent-without-session'
  ? AgentCaller
  : C extends 'owner'
    ? OwnerCaller
    : PublicCaller

export type AnyCaller = AgentCaller | OwnerCaller | PublicCaller

declare module 'fastify' {
  interface FastifyRequest {
    caller: AnyCaller | null
  }
}

/**
 * Whether the scopes of a credential permit the endpoint: the scope itself, or its `:read` form for an
 * endpoint that only reads.
 */
export function permits(held: readonly Scope[], endpoint: EndpointSpec): boolean {
  if (endpoint.scope === undefined) return true
  const reads = endpoint.method === 'GET' || endpoint.reads === true
  return endpoint.scope.some((noun) => held.includes(noun) || (reads && held.includes(`${noun}:read`)))
}
