/**
 * Administrators: people to whom the owner gives access to some projects. Only the owner manages them. Spec
 * §5; contract §10.
 */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import {
  IdParams,
  Name,
  NewName,
  named,
  OrderedPageQuery,
  pageOf,
  ref,
  Strict,
  Timestamp,
  Uuid,
} from '../primitives.ts'

const { min, max } = limits.administratorLinkTtlSeconds
const Ttl = Type.Optional(Type.Integer({ minimum: min, maximum: max }))
const State = Type.Union([Type.Literal('enabled'), Type.Literal('disabled')])

export const AdministratorInput = named('AdministratorInput', Strict({ name: NewName, ttl_seconds: Ttl }))
export type AdministratorInput = Static<typeof AdministratorInput>

export const Administrator = named(
  'Administrator',
  Type.Object({
    id: Uuid,
    name: Name,
    state: State,
    has_password: Type.Boolean({ description: 'If false, only a one-time link signs in.' }),
    project_ids: Type.Array(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
  }),
)
export type Administrator = Static<typeof Administrator>

export const AdministratorList = named('AdministratorList', pageOf('administrators', Administrator))

export const AdministratorLinkInput = named('AdministratorLinkInput', Strict({ ttl_seconds: Ttl }))
export type AdministratorLinkInput = Static<typeof AdministratorLinkInput>

export const AdministratorLink = named(
  'AdministratorLink',
  Type.Object({
    administrator: ref(Administrator),
    link: Type.String({
      description: 'Single-use sign-in link. It is shown once; the node stores only its hash.',
    }),
    expires_at: Timestamp,
  }),
)
export type AdministratorLink = Static<typeof AdministratorLink>

export const AssignmentInput = named(
  'AssignmentInput',
  Strict({ project_id: Uuid, assigned: Type.Boolean() }),
)
export type AssignmentInput = Static<typeof AssignmentInput>

export const AdministratorStateInput = named('AdministratorStateInput', Strict({ state: State }))
export type AdministratorStateInput = Static<typeof AdministratorStateInput>

export const administrators = {
  list: endpoint({
    id: 'owner.administrators.list',
    method: 'GET',
    path: '/api/admin/administrators',
    caller: 'owner',
    ownerOnly: true,
    summary: 'List the administrators and their projects.',
    query: OrderedPageQuery,
    response: AdministratorList,
    errors: [],
  }),
  create: endpoint({
    id: 'owner.administrators.create',
    method: 'POST',
    path: '/api/admin/administrators',
    caller: 'owner',
    ownerOnly: true,
    fresh: true,
    summary: 'Create an administrator without projects. The answer holds the link for the first sign-in.',
    body: AdministratorInput,
    response: AdministratorLink,
    errors: ['name_taken'],
  }),
  link: endpoint({
    id: 'owner.administrators.link',
    method: 'POST',
    path: '/api/admin/administrators/{id}/link',
    caller: 'owner',
    ownerOnly: true,
    fresh: true,
    summary:
      'Issue a one-time sign-in link, for example after a lost password. It replaces the previous link.',
    params: IdParams,
    body: AdministratorLinkInput,
    response: AdministratorLink,
    errors: ['not_found', 'state_conflict'],
  }),
  assign: endpoint({
    id: 'owner.administrators.assign',
    method: 'POST',
    path: '/api/admin/administrators/{id}/assign',
    caller: 'owner',
    ownerOnly: true,
    fresh: true,
    summary: "Grant or withdraw an administrator's access to a project.",
    params: IdParams,
    body: AssignmentInput,
    response: Administrator,
    errors: ['not_found'],
  }),
  setState: endpoint({
    id: 'owner.administrators.setState',
    method: 'POST',
    path: '/api/admin/administrators/{id}/state',
    caller: 'owner',
    ownerOnly: true,
    fresh: true,
    summary: 'Enable or disable an administrator. Disabling ends its sessions and links immediately.',
    params: IdParams,
    body: AdministratorStateInput,
    response: AdministratorStateInput,
    errors: ['not_found'],
  }),
}
