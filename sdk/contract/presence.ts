/**
 * The connection words: what the service observed of an agent, never that a model has read anything.
 *
 * Spec §1; contract §6.
 */
import { type Static, Type } from 'typebox'
import { Nullable, named, Timestamp } from './primitives.ts'

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
