/**
 * One endpoint of the contract, and the TypeScript types derived from it.
 *
 * Contract §1: method, path, caller, headers, params, query, body, response, errors.
 */
import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from './errors.ts'

/**
 * Callers that an endpoint accepts.
 *
 * - `agent`: an agent whose signed request names its session.
 * - `agent-without-session`: an agent that signs its request but has no session yet.
 * - `owner`: the owner or an administrator with a session cookie. Every POST carries the portal's Origin.
 * - `owner-signing-in`: a person without a session. Every POST carries the portal's Origin.
 * - `telemetry`: the holder of the telemetry token, which is sent as a bearer token in `Authorization`.
 * - `public`: anyone.
 */
export type Caller = 'agent' | 'agent-without-session' | 'owner' | 'owner-signing-in' | 'telemetry' | 'public'

export const scopes = ['messages', 'tasks', 'transfers'] as const
export type ScopeNoun = (typeof scopes)[number]
export type Scope = ScopeNoun | `${ScopeNoun}:read`

export interface EndpointSpec {
  /** `noun.verb`, unique; owner endpoints begin with `owner.`. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: `/api/${string}` | `/client${string}`
  readonly caller: Caller
  /**
   * Scopes of which the credential must hold one. For a GET, and where `reads` is set, the `:read` form
   * suffices. If absent, any credential may call.
   */
  readonly scope?: readonly ScopeNoun[]
  /** Marks a POST that a `:read` scope permits. */
  readonly reads?: true
  /** Requires an Idempotency-Key. A repeated request gets the stored answer, byte for byte. */
  readonly idempotent?: true
  /** Requires a sign-in or a confirmed password within the last 10 minutes. */
  readonly fresh?: true
  /**
   * Set if the answer is a stream. `response` then describes one server-sent event, or one frame that the
   * server sends.
   */
  readonly stream?: 'events' | 'socket'
  /** Frame that the client of a socket sends. */
  readonly frame?: TSchema
  /** Side whose body is binary and streamed: the request or the response. */
  readonly bytes?: 'request' | 'response'
  /** Set if a success sets or clears the owner's session cookie. */
  readonly cookie?: true
  /** Set if only the owner may call, not a project administrator. */
  readonly ownerOnly?: true
  readonly summary: string
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  readonly response: TSchema
  /**
   * Error codes particular to this endpoint. `callerErrors` lists those that every endpoint of its caller can
   * answer.
   */
  readonly errors: readonly ErrorCode[]
}

export const endpoint = <const E extends EndpointSpec>(entry: E): E => entry

type Part<E, K extends 'params' | 'query' | 'body'> = E extends { readonly [P in K]: infer S extends TSchema }
  ? Static<S>
  : undefined

export type ParamsOf<E> = Part<E, 'params'>
export type QueryOf<E> = Part<E, 'query'>
export type BodyOf<E> = Part<E, 'body'>
export type ResponseOf<E> = E extends { readonly response: infer S extends TSchema } ? Static<S> : never

/** Error codes that every endpoint can answer. */
const everyone = [
  'not_found',
  'method_not_allowed',
  'invalid_request',
  'internal',
  'unavailable',
  'storage_full',
] as const
const agent = [
  'unauthenticated',
  'credential_unknown',
  'credential_revoked',
  'credential_expired',
  'signature_invalid',
  'signature_required',
  'clock_skew',
  'request_replayed',
  'device_mismatch',
  'agent_disabled',
  'project_archived',
  'rate_limited',
] as const
const session = ['session_fenced', 'session_closed', 'session_unknown', 'scope_missing'] as const

/** Error codes that every endpoint of a caller can answer, in addition to its own. */
export const callerErrors: Record<Caller, readonly ErrorCode[]> = {
  agent: [...everyone, ...agent, ...session],
  'agent-without-session': [...everyone, ...agent],
  owner: [
    ...everyone,
    'origin_mismatch',
    'owner_session_expired',
    'not_permitted',
    'reauth_required',
    'rate_limited',
  ],
  'owner-signing-in': [...everyone, 'origin_mismatch', 'rate_limited'],
  telemetry: [...everyone, 'unauthenticated', 'rate_limited'],
  public: everyone,
}
