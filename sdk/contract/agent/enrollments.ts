/** Claiming an enrolment: an agent's key pair becomes its identity. Contract §4. */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import { Name, NewName, named, ref, Strict, Timestamp, Uuid } from '../primitives.ts'

export const Client = named('Client', Strict({ name: NewName, version: NewName }))
export type Client = Static<typeof Client>

export const bindings = ['key', 'device', 'legacy'] as const
export const Binding = Type.Union([Type.Literal('key'), Type.Literal('device'), Type.Literal('legacy')])

export const Scope = named(
  'Scope',
  Type.Union([
    Type.Literal('messages'),
    Type.Literal('tasks'),
    Type.Literal('transfers'),
    Type.Literal('messages:read'),
    Type.Literal('tasks:read'),
    Type.Literal('transfers:read'),
  ]),
)

export const AgentIdentity = named(
  'AgentIdentity',
  Type.Object({ id: Uuid, name: Name, role_name: Type.String() }),
)
export const ProjectIdentity = named(
  'ProjectIdentity',
  Type.Object({ id: Uuid, name: Name, state: Type.String() }),
)

export const EnrollmentClaimInput = named(
  'EnrollmentClaimInput',
  Strict({
    code: Type.String({ minLength: 16, maxLength: 128, pattern: '^[A-Za-z0-9_-]+$' }),
    public_key: Type.String({
      description: 'Base64url of the 32 raw bytes of an Ed25519 public key.',
      pattern: '^[A-Za-z0-9_-]{43}$',
    }),
    proof: Type.String({
      description: 'Base64url of the Ed25519 signature over the bridge-enroll-v1 text.',
      pattern: '^[A-Za-z0-9_-]{86}$',
    }),
    device: Type.Optional(Type.String({ minLength: 1, maxLength: limits.deviceChars })),
    client: ref(Client),
  }),
)
export type EnrollmentClaimInput = Static<typeof EnrollmentClaimInput>

export const EnrollmentClaimed = named(
  'EnrollmentClaimed',
  Type.Object({
    server_id: Uuid,
    server_time: Timestamp,
    agent: ref(AgentIdentity),
    project: ref(ProjectIdentity),
    credential_id: Uuid,
    binding: Binding,
    scopes: Type.Array(ref(Scope)),
  }),
)
export type EnrollmentClaimed = Static<typeof EnrollmentClaimed>

export const enrollments = {
  claim: endpoint({
    id: 'enrollments.claim',
    method: 'POST',
    path: '/api/v1/enrollments/claim',
    caller: 'public',
    summary: 'Claim an enrolment code with a key pair that the caller generated.',
    body: EnrollmentClaimInput,
    response: EnrollmentClaimed,
    errors: [
      'unauthenticated',
      'signature_invalid',
      'device_mismatch',
      'agent_disabled',
      'enrollment_used',
      'enrollment_expired',
      'enrollment_revoked',
      'project_archived',
      'rate_limited',
    ],
  }),
}
