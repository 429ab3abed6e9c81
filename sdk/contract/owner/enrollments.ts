/**
 * Enrolments: a single-use prompt with which an agent registers its public key as its credential. Contract
 * §4.
 */
import { type Static, Type } from 'typebox'
import { Scope } from '../agent/enrollments.ts'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import { Empty, IdParams, Nullable, named, pageOf, ref, Strict, Timestamp, Uuid } from '../primitives.ts'
import { AgentParams, ByAgentQuery } from './agents.ts'

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
    prompt: Type.String({
      description: 'Text to paste into a coding agent. It contains the single-use code.',
    }),
    expires_at: Timestamp,
  }),
)
export type EnrollmentIssued = Static<typeof EnrollmentIssued>

export const EnrollmentState = Type.Union([
  Type.Literal('pending'),
  Type.Literal('claimed'),
  Type.Literal('expired'),
  Type.Literal('revoked'),
])

export const EnrollmentStatus = named(
  'EnrollmentStatus',
  Type.Object({
    id: Uuid,
    state: EnrollmentState,
    created_at: Timestamp,
    expires_at: Timestamp,
    claimed_at: Nullable(Timestamp),
  }),
)
export type EnrollmentStatus = Static<typeof EnrollmentStatus>

/** Enrolment in a list, without its code. */
export const Enrollment = named(
  'Enrollment',
  Type.Object({
    ...EnrollmentStatus.properties,
    agent_id: Uuid,
    binding: Type.Union([Type.Literal('key'), Type.Literal('device')]),
    scopes: Type.Array(ref(Scope)),
    keep_existing: Type.Boolean(),
    credential_id: Nullable(Uuid),
  }),
)
export type Enrollment = Static<typeof Enrollment>

export const EnrollmentList = named('EnrollmentList', pageOf('enrollments', Enrollment))
export const EnrollmentListQuery = Strict({
  ...ByAgentQuery.properties,
  state: Type.Optional(EnrollmentState),
})

const EnrollmentParams = Strict({ id: Uuid, enrollment_id: Uuid })

export const enrollments = {
  create: endpoint({
    id: 'owner.enrollments.create',
    method: 'POST',
    path: '/api/admin/projects/{id}/agents/{agent_id}/enrollment',
    caller: 'owner',
    fresh: true,
    summary: "Issue a single-use enrolment prompt. The agent's pending enrolments are revoked.",
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
    summary: 'Read the state of an enrolment, without its code.',
    params: Strict({ id: Uuid, agent_id: Uuid, enrollment_id: Uuid }),
    response: EnrollmentStatus,
    errors: ['not_found'],
  }),
  list: endpoint({
    id: 'owner.enrollments.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/enrollments',
    caller: 'owner',
    summary: 'List the enrolments of a project, without their codes.',
    params: IdParams,
    query: EnrollmentListQuery,
    response: EnrollmentList,
    errors: ['not_found'],
  }),
  read: endpoint({
    id: 'owner.enrollments.read',
    method: 'GET',
    path: '/api/admin/projects/{id}/enrollments/{enrollment_id}',
    caller: 'owner',
    summary: 'Read one enrolment, without its code.',
    params: EnrollmentParams,
    response: Enrollment,
    errors: ['not_found'],
  }),
  revoke: endpoint({
    id: 'owner.enrollments.revoke',
    method: 'POST',
    path: '/api/admin/projects/{id}/enrollments/{enrollment_id}/revoke',
    caller: 'owner',
    summary:
      'Revoke a pending enrolment. A claimed one has become a credential, which has to be revoked separately.',
    params: EnrollmentParams,
    body: Empty,
    response: Enrollment,
    errors: ['not_found', 'state_conflict'],
  }),
}
