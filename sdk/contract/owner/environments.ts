/** Environments: where agents run. Contract §10. */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import {
  Change,
  IdParams,
  Name,
  NewName,
  named,
  OrderedPageQuery,
  pageOf,
  Strict,
  Text,
  Timestamp,
  Uuid,
} from '../primitives.ts'

export const EnvironmentKind = Type.Union([
  Type.Literal('laptop'),
  Type.Literal('server'),
  Type.Literal('container'),
  Type.Literal('ci'),
  Type.Literal('other'),
])

export const EnvironmentInput = named(
  'EnvironmentInput',
  Strict({ name: NewName, kind: EnvironmentKind, description: Type.Optional(Text(limits.descriptionBytes)) }),
)
export type EnvironmentInput = Static<typeof EnvironmentInput>

export const EnvironmentProfileInput = named(
  'EnvironmentProfileInput',
  Change({ name: NewName, kind: EnvironmentKind, description: Text(limits.descriptionBytes) }),
)
export type EnvironmentProfileInput = Static<typeof EnvironmentProfileInput>

export const Environment = named(
  'Environment',
  Type.Object({
    id: Uuid,
    project_id: Uuid,
    name: Name,
    kind: EnvironmentKind,
    description: Type.String(),
    created_at: Timestamp,
  }),
)
export type Environment = Static<typeof Environment>

export const EnvironmentList = named('EnvironmentList', pageOf('environments', Environment))

const EnvironmentParams = Strict({ id: Uuid, environment_id: Uuid })

export const environments = {
  create: endpoint({
    id: 'owner.environments.create',
    method: 'POST',
    path: '/api/admin/projects/{id}/environments',
    caller: 'owner',
    summary: 'Create an environment.',
    params: IdParams,
    body: EnvironmentInput,
    response: Environment,
    errors: ['not_found', 'name_taken'],
  }),
  list: endpoint({
    id: 'owner.environments.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/environments',
    caller: 'owner',
    summary: 'List the environments of a project.',
    params: IdParams,
    query: OrderedPageQuery,
    response: EnvironmentList,
    errors: ['not_found'],
  }),
  get: endpoint({
    id: 'owner.environments.get',
    method: 'GET',
    path: '/api/admin/projects/{id}/environments/{environment_id}',
    caller: 'owner',
    summary: 'Read one environment.',
    params: EnvironmentParams,
    response: Environment,
    errors: ['not_found'],
  }),
  change: endpoint({
    id: 'owner.environments.change',
    method: 'POST',
    path: '/api/admin/projects/{id}/environments/{environment_id}/profile',
    caller: 'owner',
    summary: 'Change the name, the kind or the description of an environment. Other fields stay.',
    params: EnvironmentParams,
    body: EnvironmentProfileInput,
    response: Environment,
    errors: ['not_found', 'name_taken'],
  }),
}
