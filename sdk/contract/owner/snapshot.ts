/**
 * Snapshot of a project: agents with their connection state, counts, latest activity, and items that need the
 * owner. The owner also gets the nodes of the installation.
 *
 * It contains no secrets and no bodies. `observed_at` is its time; a display shows data older than 30 seconds
 * as Unavailable.
 *
 * Spec §1, §4.3 "ProjectSnapshot (sanitized latest 100 records)"; contract §10 "Snapshot".
 */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { type AttentionKind, attentionLabels } from '../labels.ts'
import { Connection } from '../presence.ts'
import { IdParams, Name, Nullable, named, ref, Timestamp, Uuid } from '../primitives.ts'
import { NodeInfo } from '../telemetry.ts'
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
    waiting: Type.Integer({ minimum: 0, description: 'Unacknowledged messages in its inbox.' }),
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
      unacknowledged: Type.Integer({
        minimum: 0,
        description: 'Unacknowledged messages in the inboxes of the agents.',
      }),
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

/** Item that the owner should look at. labels.ts has a label for each kind. */
export const AttentionItem = named(
  'AttentionItem',
  Type.Object({
    kind: Type.Unsafe<AttentionKind>(Type.Union(kinds.map((kind) => Type.Literal(kind)))),
    at: Timestamp,
    agent: Nullable(Type.Object({ id: Uuid, name: Name })),
    subject: Type.Object({ type: Type.String(), id: Nullable(Uuid) }),
    count: Type.Integer({ minimum: 1, description: 'Number of occurrences, or of messages.' }),
  }),
)
export type AttentionItem = Static<typeof AttentionItem>

export const ProjectSnapshot = named(
  'ProjectSnapshot',
  Type.Object({
    project: ref(Project),
    agents: Type.Array(ref(SnapshotAgent)),
    has_more_agents: Type.Boolean({
      description: 'True if there are more than 500 agents. The list of agents has all of them.',
    }),
    counts: ref(SnapshotCounts),
    activity: Type.Array(ref(AuditRecord), { description: 'The latest 100 records, oldest first.' }),
    attention: Type.Array(ref(AttentionItem)),
    nodes: Type.Optional(
      Type.Array(ref(NodeInfo), {
        description:
          'The nodes of the installation that are alive, by name, as telemetry lists them. Only the owner gets them.',
      }),
    ),
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
    summary: 'Read a snapshot of a project: agents, counts, latest activity, attention items.',
    params: IdParams,
    response: ProjectSnapshot,
    errors: ['not_found'],
  }),
}
