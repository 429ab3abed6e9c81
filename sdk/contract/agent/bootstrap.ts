/**
 * Bootstrap, the first read of an agent: its identity, the session policy and the transports it may choose.
 * Contract §5.
 */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { Nullable, named, ref, Timestamp, Uuid } from '../primitives.ts'
import { AgentIdentity, Binding, ProjectIdentity, Scope } from './enrollments.ts'
import { SessionPolicy } from './sessions.ts'

export const Bootstrap = named(
  'Bootstrap',
  Type.Object({
    server_id: Uuid,
    server_time: Timestamp,
    agent: ref(AgentIdentity),
    project: ref(ProjectIdentity),
    credential: Type.Object({ id: Uuid, binding: Binding, scopes: Type.Array(ref(Scope)) }),
    instructions: Type.String(),
    owner_conversation_id: Nullable(Uuid),
    policy: ref(SessionPolicy),
    capabilities: Type.Object({
      inbox: Type.Boolean(),
      sse: Type.Boolean(),
      socket: Type.Boolean(),
      packages: Type.Boolean(),
      direct: Type.Boolean(),
    }),
    limits: Type.Record(Type.String(), Type.Integer()),
  }),
)
export type Bootstrap = Static<typeof Bootstrap>

export const bootstrap = {
  get: endpoint({
    id: 'bootstrap.get',
    method: 'GET',
    path: '/api/v1/bootstrap',
    caller: 'agent-without-session',
    summary: 'Read the assigned identity, the session policy and the capabilities.',
    response: Bootstrap,
    errors: [],
  }),
}
