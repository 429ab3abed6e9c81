/** Projects, as the owner manages them. Spec §4.3; contract §10. */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import {
  Change,
  IdParams,
  Name,
  NewName,
  Nullable,
  named,
  OrderedPageQuery,
  pageOf,
  ref,
  Strict,
  Text,
  Timestamp,
  Uuid,
} from '../primitives.ts'

const PolicyNumber = (maximum: number) => Nullable(Type.Integer({ minimum: 1, maximum }))

const policyFields = {
  idle_seconds: PolicyNumber(604_800),
  empty_polls: PolicyNumber(1_000_000),
  message_budget: PolicyNumber(1_000_000),
  retention_days: PolicyNumber(36_500),
  audit_days: PolicyNumber(36_500),
}

/** Policy of a project. Null means no cutoff, or the server's default. */
export const ProjectPolicy = named('ProjectPolicy', Type.Object(policyFields))
export type ProjectPolicy = Static<typeof ProjectPolicy>

export const ProjectState = Type.Union([
  Type.Literal('active'),
  Type.Literal('paused'),
  Type.Literal('archived'),
])
export type ProjectState = Static<typeof ProjectState>

export const ProjectInput = named(
  'ProjectInput',
  Strict({
    name: NewName,
    description: Type.Optional(Text(limits.descriptionBytes)),
    policy: Type.Optional(Type.Partial(Strict(policyFields), { additionalProperties: false })),
  }),
)
export type ProjectInput = Static<typeof ProjectInput>

export const ProjectProfileInput = named(
  'ProjectProfileInput',
  Change({ name: NewName, description: Text(limits.descriptionBytes), policy: Change(policyFields) }),
)
export type ProjectProfileInput = Static<typeof ProjectProfileInput>

export const Project = named(
  'Project',
  Type.Object({
    id: Uuid,
    name: Name,
    description: Type.String(),
    state: ProjectState,
    policy: ref(ProjectPolicy),
    created_at: Timestamp,
    updated_at: Timestamp,
  }),
)
export type Project = Static<typeof Project>

export const ProjectList = named('ProjectList', pageOf('projects', Project))

export const ProjectStateInput = named('ProjectStateInput', Strict({ state: ProjectState }))
export type ProjectStateInput = Static<typeof ProjectStateInput>

/**
 * Confirmation of a deletion: the project's exact name, byte for byte. It prevents deleting the wrong
 * project.
 */
export const ProjectDeleteInput = named('ProjectDeleteInput', Strict({ confirm_name: Name }))
export type ProjectDeleteInput = Static<typeof ProjectDeleteInput>

export const ProjectDeleted = named('ProjectDeleted', Type.Object({ id: Uuid, deleted_at: Timestamp }))
export type ProjectDeleted = Static<typeof ProjectDeleted>

export const projects = {
  list: endpoint({
    id: 'owner.projects.list',
    method: 'GET',
    path: '/api/admin',
    caller: 'owner',
    summary: 'List the projects.',
    query: OrderedPageQuery,
    response: ProjectList,
    errors: [],
  }),
  create: endpoint({
    id: 'owner.projects.create',
    method: 'POST',
    path: '/api/admin/projects',
    caller: 'owner',
    ownerOnly: true,
    summary: 'Create an empty project.',
    body: ProjectInput,
    response: Project,
    errors: ['name_taken'],
  }),
  setState: endpoint({
    id: 'owner.projects.setState',
    method: 'POST',
    path: '/api/admin/projects/{id}/state',
    caller: 'owner',
    summary: 'Activate, pause or archive a project.',
    params: IdParams,
    body: ProjectStateInput,
    response: ProjectStateInput,
    errors: ['not_found', 'state_conflict'],
  }),
  change: endpoint({
    id: 'owner.projects.change',
    method: 'POST',
    path: '/api/admin/projects/{id}/profile',
    caller: 'owner',
    summary: 'Change the name, the description or fields of the policy. Other fields stay.',
    params: IdParams,
    body: ProjectProfileInput,
    response: Project,
    errors: ['not_found', 'name_taken'],
  }),
  delete: endpoint({
    id: 'owner.projects.delete',
    method: 'POST',
    path: '/api/admin/projects/{id}/delete',
    caller: 'owner',
    ownerOnly: true,
    fresh: true,
    summary: 'Delete a project permanently, confirmed by its exact name. Only one audit record stays.',
    params: IdParams,
    body: ProjectDeleteInput,
    response: ProjectDeleted,
    errors: ['not_found'],
  }),
}
