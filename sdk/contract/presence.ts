/**
 * The connection words: what the service observed of an agent, never that a model has read anything.
 *
 * Spec §1; contract §6.
 */
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { limits } from './limits.ts'
import { Nullable, named, ref, Strict, Timestamp } from './primitives.ts'

export const Connection = named(
  'Connection',
  Type.Object({
    connected: Type.Boolean({ description: 'Authorized contact within the last 60 seconds.' }),
    listening_now: Type.Boolean({ description: 'A wait is open now, or ended less than 5 seconds ago.' }),
    last_contact_at: Nullable(Timestamp),
    next_contact: Type.Object({
      kind: Type.Union([
        Type.Literal('listening'),
        Type.Literal('scheduled'),
        Type.Literal('after_current_work_step'),
        Type.Literal('unknown'),
      ]),
      expected_at: Nullable(Timestamp),
      overdue: Type.Boolean(),
    }),
    observed_at: Timestamp,
  }),
)
export type Connection = Static<typeof Connection>

/** When the agent means to come back: by a schedule, or after its current work step. Streams are observed, not declared. */
export const ContactSchedule = named(
  'ContactSchedule',
  Type.Union([
    Strict({
      mode: Type.Literal('short_poll'),
      interval_seconds: Type.Integer({
        minimum: limits.scheduleSeconds.min,
        maximum: limits.scheduleSeconds.max,
      }),
    }),
    Strict({ mode: Type.Literal('checkpoint') }),
  ]),
)
export type ContactSchedule = Static<typeof ContactSchedule>

export const ConnectionModeSet = named(
  'ConnectionModeSet',
  Type.Object({ schedule: ref(ContactSchedule), connection: ref(Connection) }),
)
export type ConnectionModeSet = Static<typeof ConnectionModeSet>

export const connectionMode = {
  report: endpoint({
    id: 'connectionMode.report',
    method: 'POST',
    path: '/api/v1/connection-mode',
    caller: 'agent',
    summary: 'Report scheduled short polling or work-checkpoint polling.',
    body: ContactSchedule,
    response: ConnectionModeSet,
    errors: [],
  }),
}
