/**
 * Audit records, as the owner reads them: event, actor and target. They contain no bodies and no secrets.
 *
 * `since` and `until` bound the time by which records are ordered. This is the record's own time unless the
 * node's clock was set back: until the clock has caught up, new records are ordered as of the moment before
 * it was set back.
 *
 * Contract §10.
 */
import { type Static, Type } from 'typebox'
import { auditKinds, type AuditKind as Kind } from '../audit-kinds.ts'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import { IdParams, ListOrder, Nullable, named, pageOf, ref, Strict, Timestamp, Uuid } from '../primitives.ts'

/** The kinds that a query may ask for. A record may have another kind if a newer node wrote it. */
export const AuditKind = named(
  'AuditKind',
  Type.Unsafe<Kind>({ type: 'string', enum: Object.keys(auditKinds) }),
)

export const AuditRecord = named(
  'AuditRecord',
  Type.Object({
    id: Uuid,
    at: Timestamp,
    kind: Type.String({ pattern: '^[a-z_]{1,40}\\.[a-z_]{1,40}$', maxLength: 81 }),
    project_id: Nullable(Uuid),
    actor: Type.Object({
      kind: Type.Union([
        Type.Literal('agent'),
        Type.Literal('owner'),
        Type.Literal('system'),
        Type.Literal('anonymous'),
      ]),
      id: Nullable(Uuid),
      name: Type.String(),
    }),
    subject: Type.Object({ type: Type.String(), id: Nullable(Uuid) }),
    request_id: Nullable(Type.String()),
    details: Type.Record(Type.String(), Type.Unknown()),
  }),
)
export type AuditRecord = Static<typeof AuditRecord>

const Limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: limits.pageMax, default: limits.pageDefault }),
)

const filters = {
  kind: Type.Optional(ref(AuditKind)),
  actor_id: Type.Optional(Uuid),
  subject_id: Type.Optional(Uuid),
}

export const AuditQuery = Strict({
  after: Type.Optional(Uuid),
  limit: Limit,
  order: Type.Optional(ListOrder),
  ...filters,
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
})
export type AuditQuery = Static<typeof AuditQuery>

export const AuditList = named('AuditList', pageOf('audit', AuditRecord))
export type AuditList = Static<typeof AuditList>

export const EventsQuery = Strict({
  after: Type.Optional(Uuid),
  limit: Limit,
  ...filters,
  wait_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.inboxWaitSeconds, default: 0 })),
})
export type EventsQuery = Static<typeof EventsQuery>

export const EventList = named('EventList', pageOf('events', AuditRecord))
export type EventList = Static<typeof EventList>

export const audit = {
  list: endpoint({
    id: 'owner.audit.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/audit',
    caller: 'owner',
    summary: "Read a project's audit.",
    params: IdParams,
    query: AuditQuery,
    response: AuditList,
    errors: ['not_found'],
  }),
  get: endpoint({
    id: 'owner.audit.get',
    method: 'GET',
    path: '/api/admin/projects/{id}/audit/{record_id}',
    caller: 'owner',
    summary: 'Read one audit record.',
    params: Strict({ id: Uuid, record_id: Uuid }),
    response: AuditRecord,
    errors: ['not_found'],
  }),
  node: endpoint({
    id: 'owner.audit.node',
    method: 'GET',
    path: '/api/admin/audit',
    caller: 'owner',
    ownerOnly: true,
    summary: 'Read the audit records that belong to no project: sign-ins, links, administrators.',
    query: AuditQuery,
    response: AuditList,
    errors: [],
  }),
  events: endpoint({
    id: 'owner.audit.events',
    method: 'GET',
    path: '/api/admin/projects/{id}/events',
    caller: 'owner',
    summary:
      'Wait for audit records after `after`, oldest first, or for a change of presence, which gives an empty page. Without `after`, read the latest records.',
    params: IdParams,
    query: EventsQuery,
    response: EventList,
    errors: ['not_found', 'wait_limit'],
  }),
}
