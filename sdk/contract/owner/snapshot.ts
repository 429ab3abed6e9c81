/**
 * A project at a glance: its agents and what was observed of them, numbers, what happened last, what needs the owner.
 *
 * No secrets, no bodies. It is as old as `observed_at` says; what is older than 30 seconds is shown as Unavailable.
 *
 * Spec §1, §4.3 "ProjectSnapshot (sanitized latest 100 records)"; contract §10 "Snapshot".
 */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { type AttentionKind, attentionLabels } from '../labels.ts'
import { Connection } from '../presence.ts'
import { IdParams, Name, Nullable, named, ref, Timestamp, Uuid } from '../primitives.ts'
import { AgentState } from './agents.ts'
import { AuditRecord } from './audit.ts'
import { Project } from './projects.ts'

const Count = Type.Integer({ minimum: 0 })

export const SnapshotAgent = named(
  'SnapshotAgent',
  Type.Object({
    id: Uuid,
    name: Name,
    role_name: Type.String(),
    state: AgentState,
    connection: ref(Connection),
    waiting: Type.Integer({ minimum: 0, description: 'Messages of its inbox that are unacknowledged.' }),
  }),
)
export type SnapshotAgent = Static<typeof SnapshotAgent>

export const SnapshotCounts = named(
  'SnapshotCounts',
  Type.Object(
    {
      agents: Count,
      enabled: Count,
      connected: Count,
      listening_now: Count,
      overdue: Count,
      unacknowledged: Type.Integer({ minimum: 0, description: 'Messages in the inboxes of the agents.' }),
      to_owner: Type.Integer({ minimum: 0, description: 'Unacknowledged messages to the owner.' }),
      pending_enrollments: Count,
      tasks: Type.Object({ open: Count, claimed: Count, cancel_requested: Count }),
    },
    {
      description:
        'Of the agents that the snapshot lists; what is counted beside them, counts to 10,000 at most.',
    },
  ),
)
export type SnapshotCounts = Static<typeof SnapshotCounts>

const kinds = Object.keys(attentionLabels) as AttentionKind[]

/** Something that an owner should look at; the words for each kind are in labels.ts. */
export const AttentionItem = named(
  'AttentionItem',
  Type.Object({
    kind: Type.Unsafe<AttentionKind>(Type.Union(kinds.map((kind) => Type.Literal(kind)))),
    at: Timestamp,
    agent: Nullable(Type.Object({ id: Uuid, name: Name })),
    subject: Type.Object({ type: Type.String(), id: Nullable(Uuid) }),
    count: Type.Integer({ minimum: 1, description: 'How often, or how many messages.' }),
  }),
)
export type AttentionItem = Static<typeof AttentionItem>

export const ProjectSnapshot = named(
  'ProjectSnapshot',
  Type.Object({
    project: ref(Project),
    agents: Type.Array(ref(SnapshotAgent)),
    has_more_agents: Type.Boolean({
      description: 'There are more than 500; the list of agents has them all.',
    }),
    counts: ref(SnapshotCounts),
    activity: Type.Array(ref(AuditRecord), { description: 'The latest 100 records, oldest first.' }),
    attention: Type.Array(ref(AttentionItem)),
    observed_at: Timestamp,
  }),
)
export type ProjectSnapshot = Static<typeof ProjectSnapshot>

export const snapshots = {
  get: endpoint({
    id: 'owner.snapshots.get',
    method: 'GET',
    path: '/api/admin/projects/{id}',
    caller: 'owner',
    summary: 'Read a project at a glance: agents, counts, latest activity, what needs attention.',
    params: IdParams,
    response: ProjectSnapshot,
    errors: ['not_found'],
  }),
}
