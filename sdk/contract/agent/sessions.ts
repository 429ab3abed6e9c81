/**
 * Sessions: at most one active session per agent. A newer generation fences (permanently ends) an older one.
 * Contract §5.
 */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { Empty, Nullable, named, ref, Strict, Timestamp, Uuid } from '../primitives.ts'
import { Client } from './enrollments.ts'

export const SessionPolicy = named(
  'SessionPolicy',
  Type.Object({
    idle_seconds: Nullable(Type.Integer({ minimum: 1 })),
    empty_polls: Nullable(Type.Integer({ minimum: 1 })),
  }),
)
export type SessionPolicy = Static<typeof SessionPolicy>

export const SessionInput = named(
  'SessionInput',
  Strict({
    instance_id: Uuid,
    client: ref(Client),
    challenge: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    takeover_grant: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  }),
)
export type SessionInput = Static<typeof SessionInput>

export const Session = named(
  'Session',
  Type.Object({
    id: Uuid,
    agent_id: Uuid,
    project_id: Uuid,
    generation: Type.Integer({ minimum: 1 }),
    resumed: Type.Boolean(),
    started_at: Timestamp,
    replaced_session_id: Nullable(Uuid),
    policy: ref(SessionPolicy),
  }),
)
export type Session = Static<typeof Session>

export const SessionClosed = named('SessionClosed', Type.Object({ id: Uuid, closed_at: Timestamp }))
export type SessionClosed = Static<typeof SessionClosed>

export const Challenge = named('Challenge', Type.Object({ challenge: Type.String(), expires_at: Timestamp }))
export type Challenge = Static<typeof Challenge>

export const sessions = {
  challenge: endpoint({
    id: 'sessions.challenge',
    method: 'POST',
    path: '/api/v1/sessions/challenge',
    caller: 'agent-without-session',
    summary: 'Get the single-use challenge that a device-bound session start needs.',
    body: Empty,
    response: Challenge,
    errors: ['state_conflict'],
  }),
  start: endpoint({
    id: 'sessions.start',
    method: 'POST',
    path: '/api/v1/sessions',
    caller: 'agent-without-session',
    summary: 'Start a session, or resume the active session of the same instance.',
    body: SessionInput,
    response: Session,
    errors: ['session_active', 'challenge_invalid', 'takeover_pending', 'grant_invalid'],
  }),
  close: endpoint({
    id: 'sessions.close',
    method: 'POST',
    path: '/api/v1/sessions/current/close',
    caller: 'agent',
    summary: 'Close the session. Its task claims stay until they expire.',
    body: Empty,
    response: SessionClosed,
    errors: [],
  }),
}
