/** Credentials, as their owner sees them. Contract §3. */
import { type Static, Type } from 'typebox'
import { Binding, Scope } from '../agent/enrollments.ts'
import { endpoint } from '../endpoint.ts'
import {
  Empty,
  IdParams,
  Nullable,
  named,
  PageQuery,
  pageOf,
  ref,
  Strict,
  Timestamp,
  Uuid,
} from '../primitives.ts'

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

export const credentials = {
  list: endpoint({
    id: 'owner.credentials.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/credentials',
    caller: 'owner',
    summary: 'List the credentials of a project; never a secret.',
    params: IdParams,
    query: PageQuery,
    response: CredentialList,
    errors: ['not_found'],
  }),
  revoke: endpoint({
    id: 'owner.credentials.revoke',
    method: 'POST',
    path: '/api/admin/projects/{id}/credentials/{credential_id}/revoke',
    caller: 'owner',
    summary: 'Revoke a credential; its sessions are fenced and its waits end at once.',
    params: Strict({ id: Uuid, credential_id: Uuid }),
    body: Empty,
    response: RevokeResult,
    errors: ['not_found'],
  }),
}
