/** Enrolments: a single-use prompt that turns an agent's key pair into its identity. Contract §4. */
import { type Static, Type } from 'typebox'
import { Scope } from '../agent/enrollments.ts'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import { Nullable, named, ref, Strict, Timestamp, Uuid } from '../primitives.ts'
import { AgentParams } from './agents.ts'

export const EnrollmentInput = named(
  'EnrollmentInput',
  Strict({
    binding: Type.Optional(Type.Union([Type.Literal('key'), Type.Literal('device')])),
    ttl_seconds: Type.Optional(
      Type.Integer({ minimum: limits.enrollmentTtlSeconds.min, maximum: limits.enrollmentTtlSeconds.max }),
    ),
    scopes: Type.Optional(Type.Array(ref(Scope), { minItems: 1, maxItems: 6, uniqueItems: true })),
    keep_existing: Type.Optional(Type.Boolean()),
  }),
)
export type EnrollmentInput = Static<typeof EnrollmentInput>

export const EnrollmentIssued = named(
  'EnrollmentIssued',
  Type.Object({
    enrollment_id: Uuid,
    prompt: Type.String({ description: 'Copyable text for a coding agent; holds the single-use code.' }),
    expires_at: Timestamp,
  }),
)
export type EnrollmentIssued = Static<typeof EnrollmentIssued>

export const EnrollmentStatus = named(
  'EnrollmentStatus',
  Type.Object({
    id: Uuid,
    state: Type.Union([
      Type.Literal('pending'),
      Type.Literal('claimed'),
      Type.Literal('expired'),
      Type.Literal('revoked'),
    ]),
    created_at: Timestamp,
    expires_at: Timestamp,
    claimed_at: Nullable(Timestamp),
  }),
)
export type EnrollmentStatus = Static<typeof EnrollmentStatus>

export const enrollments = {
  create: endpoint({
    id: 'owner.enrollments.create',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents/{agent_id}/enrollment',
    caller: 'owner',
    fresh: true,
    summary: 'Issue a single-use enrolment prompt; pending ones of the agent are revoked.',
    params: AgentParams,
    body: EnrollmentInput,
    response: EnrollmentIssued,
    errors: ['not_found', 'project_archived', 'agent_disabled'],
  }),
  get: endpoint({
    id: 'owner.enrollments.get',
    method: 'GET',
    path: '/api/admin/projects/{id}/agents/{agent_id}/enrollments/{enrollment_id}',
    caller: 'owner',
    summary: 'Read the state of an enrolment; never the code.',
    params: Strict({ id: Uuid, agent_id: Uuid, enrollment_id: Uuid }),
    response: EnrollmentStatus,
    errors: ['not_found'],
  }),
}
