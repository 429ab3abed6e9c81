/**
 * Connection state of an agent, as the node observed it. It never proves that a model has read anything.
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
    connected: Type.Boolean({
      description: 'The agent made an authorised request within the last 60 seconds.',
    }),
    listening_now: Type.Boolean({
      description: 'The agent has a long-poll or stream open, or had one less than 5 seconds ago.',
    }),
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

/**
 * The agent's announced next contact: at a fixed interval (`short_poll`) or after its current work step
 * (`checkpoint`). Long-polls and streams need no announcement; the node observes them.
 */
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
    summary: 'Announce when the caller polls next: at a fixed interval, or after its current work step.',
    body: ContactSchedule,
    response: ConnectionModeSet,
    errors: [],
  }),
}
