/**
 * One entry of the contract, and the types that are read from it.
 *
 * Contract §1: method, path, caller, headers, params, query, body, response, errors.
 */
import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from './errors.ts'

/**
 * Who may call.
 *
 * - `agent`: a signed request with a session.
 * - `agent-without-session`: a signed request before there is a session.
 * - `owner`: an administrator's session; every POST carries the portal's Origin.
 * - `owner-signing-in`: the portal's Origin, but no session yet.
 * - `telemetry`: who holds the telemetry token, as `Authorization: Bearer …`.
 * - `public`: anybody.
 */
export type Caller = 'agent' | 'agent-without-session' | 'owner' | 'owner-signing-in' | 'telemetry' | 'public'

export const scopes = ['messages', 'tasks', 'transfers'] as const
export type ScopeNoun = (typeof scopes)[number]
export type Scope = ScopeNoun | `${ScopeNoun}:read`

export interface EndpointSpec {
  /** `noun.verb`, unique; owner endpoints begin with `owner.`. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: `/api/${string}`
  readonly caller: Caller
  /** What the credential must hold: one of these nouns (its `:read` form suffices where `reads` or GET). Absent: any scope. */
  readonly scope?: readonly ScopeNoun[]
  /** A POST that a `:read` scope permits all the same. */
  readonly reads?: true
  /** Requires an Idempotency-Key; the same request again gets the same bytes. */
  readonly idempotent?: true
  /** The owner's session must be signed in or confirmed within the last ten minutes. */
  readonly fresh?: true
  /** Not a JSON answer: server-sent events, or an upgrade to a socket. `response` is one event, or one frame of the server. */
  readonly stream?: 'events' | 'socket'
  /** One frame of the client of a socket. */
  readonly frame?: TSchema
  /** A body of bytes that streams to disk, or an answer of bytes. */
  readonly bytes?: 'request' | 'response'
  /** A success sets or clears the cookie of an owner's session. */
  readonly cookie?: true
  /** Only the owner, not a project administrator. */
  readonly ownerOnly?: true
  readonly summary: string
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  readonly response: TSchema
  /** The codes particular to this endpoint; those that its caller can always meet are in `callerErrors`. */
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

/** Codes that any endpoint of a caller may answer, beside its own. */
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
