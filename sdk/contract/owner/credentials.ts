/** Credentials, as the owner manages them. Contract §3. */
import { type Static, Type } from 'typebox'
import { Binding, Scope } from '../agent/enrollments.ts'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import {
  Empty,
  IdParams,
  Nullable,
  named,
  pageOf,
  ref,
  Strict,
  Text,
  Timestamp,
  Uuid,
} from '../primitives.ts'
import { AgentParams, ByAgentQuery } from './agents.ts'

export const Credential = named(
  'Credential',
  Type.Object({
    id: Uuid,
    agent_id: Uuid,
    binding: Binding,
    scopes: Type.Array(ref(Scope)),
    fingerprint: Type.String(),
    created_at: Timestamp,
    expires_at: Nullable(Timestamp),
    revoked_at: Nullable(Timestamp),
    last_used_at: Nullable(Timestamp),
  }),
)
export type Credential = Static<typeof Credential>

export const CredentialList = named('CredentialList', pageOf('credentials', Credential))

export const RevokeResult = named(
  'RevokeResult',
  Type.Object({ credential_id: Uuid, revoked_at: Timestamp, already: Type.Boolean() }),
)
export type RevokeResult = Static<typeof RevokeResult>

/** Legacy credentials exist for compatibility; prefer an enrolment. */
export const CredentialInput = named(
  'CredentialInput',
  Strict({
    kind: Type.Literal('legacy'),
    scopes: Type.Optional(Type.Array(ref(Scope), { minItems: 1, maxItems: 6, uniqueItems: true })),
    expires_at: Type.Optional(Timestamp),
    replaces: Type.Optional(Uuid),
  }),
)
export type CredentialInput = Static<typeof CredentialInput>

export const CredentialIssued = named(
  'CredentialIssued',
  Type.Object({
    credential: ref(Credential),
    secret: Type.String({ description: 'Shown once; the node stores only its hash.' }),
  }),
)
export type CredentialIssued = Static<typeof CredentialIssued>

export const TakeoverInput = named(
  'TakeoverInput',
  Strict({
    ttl_seconds: Type.Optional(
      Type.Integer({ minimum: limits.takeoverTtlSeconds.min, maximum: limits.takeoverTtlSeconds.max }),
    ),
    reason: Type.Optional(Text(limits.descriptionBytes)),
  }),
)
export type TakeoverInput = Static<typeof TakeoverInput>

export const TakeoverIssued = named(
  'TakeoverIssued',
  Type.Object({
    grant: Type.String({ description: 'Shown once; the start of the new session consumes it.' }),
    expires_at: Timestamp,
    fenced_session_id: Nullable(Uuid),
    generation: Type.Integer({ minimum: 0 }),
  }),
)
export type TakeoverIssued = Static<typeof TakeoverIssued>

export const credentials = {
  issue: endpoint({
    id: 'owner.credentials.issue',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents/{agent_id}/credentials',
    caller: 'owner',
    fresh: true,
    summary: 'Issue a legacy credential. Its secret is shown once.',
    params: AgentParams,
    body: CredentialInput,
    response: CredentialIssued,
    errors: ['not_found', 'agent_disabled', 'project_archived'],
  }),
  list: endpoint({
    id: 'owner.credentials.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/credentials',
    caller: 'owner',
    summary: 'List the credentials of a project, without secrets.',
    params: IdParams,
    query: ByAgentQuery,
    response: CredentialList,
    errors: ['not_found'],
  }),
  get: endpoint({
    id: 'owner.credentials.get',
    method: 'GET',
    path: '/api/admin/projects/{id}/credentials/{credential_id}',
    caller: 'owner',
    summary: 'Read one credential, without its secret.',
    params: Strict({ id: Uuid, credential_id: Uuid }),
    response: Credential,
    errors: ['not_found'],
  }),
  revoke: endpoint({
    id: 'owner.credentials.revoke',
    method: 'POST',
    path: '/api/admin/projects/{id}/credentials/{credential_id}/revoke',
    caller: 'owner',
    summary:
      'Revoke a credential. Its sessions are fenced and its open long-polls and streams end immediately.',
    params: Strict({ id: Uuid, credential_id: Uuid }),
    body: Empty,
    response: RevokeResult,
    errors: ['not_found'],
  }),
}

export const takeovers = {
  issue: endpoint({
    id: 'owner.takeovers.issue',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents/{agent_id}/takeover',
    caller: 'owner',
    fresh: true,
    summary: 'Fence the current session and issue a single-use grant for the next one.',
    params: AgentParams,
    body: TakeoverInput,
    response: TakeoverIssued,
    errors: ['not_found', 'agent_disabled', 'project_archived'],
  }),
}
