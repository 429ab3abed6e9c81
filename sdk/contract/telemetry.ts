/**
 * Host telemetry. Hosts report CPU and memory samples with a bearer token. The owner reads the latest sample
 * of each.
 *
 * Spec §4.4 "whole-host CPU and memory samples; the latest sample may become stale"; contract §11.
 */
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { limits } from './limits.ts'
import { named, ref, Strict, Timestamp } from './primitives.ts'

const Host = Type.String({ minLength: 1, maxLength: 253, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' })

const load = {
  cpu_percent: Type.Number({ minimum: 0, maximum: 100, description: 'Load of all processors together.' }),
  memory_used_bytes: Type.Integer({ minimum: 0, maximum: limits.sequenceMax }),
  memory_total_bytes: Type.Integer({ minimum: 1, maximum: limits.sequenceMax }),
}

const fields = { host: Host, sampled_at: Timestamp, ...load }

export const HostSampleInput = named('HostSampleInput', Strict(fields))
export type HostSampleInput = Static<typeof HostSampleInput>

export const HostSample = named(
  'HostSample',
  Type.Object({
    ...fields,
    stale: Type.Boolean({ description: 'True if the sample is more than 90 seconds old.' }),
  }),
)
export type HostSample = Static<typeof HostSample>

const Bytes = Type.Integer({ minimum: 0 })

export const NodeStorage = named(
  'NodeStorage',
  Type.Object(
    {
      state: Type.Union([Type.Literal('open'), Type.Literal('full')], {
        description:
          'While full, the node refuses every request that needs an Idempotency-Key with storage_full.',
      }),
      free_bytes: Bytes,
      total_bytes: Bytes,
      database_bytes: Bytes,
      reserve_bytes: Type.Integer({ minimum: 0, description: '0 if there is no reserve.' }),
    },
    { description: "The disk of the node's data folder." },
  ),
)
export type NodeStorage = Static<typeof NodeStorage>

/** One node of the installation, as its last beat described it. */
export const NodeInfo = named(
  'NodeInfo',
  Type.Object({
    id: Type.String({ description: 'Changes at each start of the node.' }),
    name: Type.String({ description: 'Its setting node_name.' }),
    version: Type.String({ description: 'Version of its program.' }),
    started_at: Timestamp,
    seen_at: { ...Timestamp, description: 'Time of its last beat, by the clock of the database.' },
    leads: Type.Boolean({ description: 'Whether maintenance runs at this node.' }),
    cpu_percent: Type.Number({ minimum: 0, maximum: 100 }),
    waits: Type.Integer({ minimum: 0, description: 'Long-polls, streams and sockets that wait at it.' }),
    lag_ms: Type.Integer({
      minimum: 0,
      description: 'How late its last beat was confirmed: the node is busy, or the database is slow.',
    }),
  }),
)
export type NodeInfo = Static<typeof NodeInfo>

/** A node that no longer serves the installation. */
export const EndedNode = named(
  'EndedNode',
  Type.Object({
    id: Type.String(),
    name: Type.String({ description: 'Its setting node_name.' }),
    version: Type.String({ description: 'Version of its program.' }),
    seen_at: { ...Timestamp, description: 'Time of its last beat, by the clock of the database.' },
    left: Type.Boolean({ description: 'True if it was stopped. False if its beats ended.' }),
  }),
)
export type EndedNode = Static<typeof EndedNode>

export const HostSampleList = named(
  'HostSampleList',
  Type.Object({
    hosts: Type.Array(ref(HostSample)),
    nodes: Type.Array(ref(NodeInfo), {
      description: 'The nodes of the installation that are alive, by name. With SQLite there is one.',
    }),
    ended_nodes: Type.Array(ref(EndedNode), {
      description:
        'The nodes that ended in the last 24 hours, as far as the node that answers has seen it since its own start, by name. Not those whose name serves again.',
    }),
    storage: ref(NodeStorage),
    observed_at: Timestamp,
  }),
)
export type HostSampleList = Static<typeof HostSampleList>

/** Load of a host in one minute: its last sample of that minute. */
export const HostMinute = named(
  'HostMinute',
  Type.Object({
    at: { ...Timestamp, description: 'When the node took or received the sample, by its own clock.' },
    ...load,
  }),
)
export type HostMinute = Static<typeof HostMinute>

export const HostHistory = named(
  'HostHistory',
  Type.Object({
    host: Host,
    minutes: Type.Array(ref(HostMinute), {
      description: 'Oldest first. A minute without a sample is left out.',
    }),
    observed_at: Timestamp,
  }),
)
export type HostHistory = Static<typeof HostHistory>

export const HostHistoryQuery = Strict({
  host: Host,
  minutes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.telemetryHistoryMinutes,
      default: limits.telemetryHistoryMinutes,
      description: 'How far back from now.',
    }),
  ),
})
export type HostHistoryQuery = Static<typeof HostHistoryQuery>

export const telemetry = {
  report: endpoint({
    id: 'telemetry.report',
    method: 'POST',
    path: '/api/telemetry/host',
    caller: 'telemetry',
    summary: "Report a host's load. The node stores the latest sample, and keeps 24 hours in memory.",
    body: HostSampleInput,
    response: HostSample,
    errors: ['capacity_reached'],
  }),
}

export const ownerTelemetry = {
  list: endpoint({
    id: 'owner.telemetry.list',
    method: 'GET',
    path: '/api/admin/telemetry',
    caller: 'owner',
    ownerOnly: true,
    summary:
      "Read the latest sample of each host, including the node's own, the nodes of the installation, and the free space on the node's disk.",
    response: HostSampleList,
    errors: [],
  }),
  history: endpoint({
    id: 'owner.telemetry.history',
    method: 'GET',
    path: '/api/admin/telemetry/history',
    caller: 'owner',
    ownerOnly: true,
    summary:
      'Read the load of one host in the last 24 hours, one sample a minute. It begins with the start of the node.',
    query: HostHistoryQuery,
    response: HostHistory,
    errors: ['not_found'],
  }),
}
