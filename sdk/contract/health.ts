/** Liveness, readiness and the API description. Spec §4.4; contract §11. */
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Nullable, named, Uuid } from './primitives.ts'

export const Health = named(
  'Health',
  Type.Object({
    status: Type.Literal('ok'),
    service: Type.Literal('agent-bridge'),
    stage: Type.String(),
    build: Type.Object({ version: Type.String(), commit: Type.String(), built_at: Nullable(Type.String()) }),
    server_id: Uuid,
    portal_origin: Type.String(),
  }),
)
export type Health = Static<typeof Health>

export const Readiness = named(
  'Readiness',
  Type.Object({
    ready: Type.Boolean(),
    checks: Type.Object({
      auth: Type.Boolean(),
      envelope_key: Type.Boolean(),
      migrations: Type.Boolean(),
      database: Type.Boolean(),
      storage: Type.Boolean(),
      nodes: Type.Boolean({
        description:
          'Whether no other process writes to the data folder of this node, and the other nodes of its database count it as alive.',
      }),
    }),
    peers: Type.Union([Type.Literal('none'), Type.Literal('notified'), Type.Literal('polled')], {
      description:
        'How this node learns of commits of the other nodes: PostgreSQL notifies it, or it polls the database because notifications do not arrive. None on SQLite, which has one node. It does not change ready.',
    }),
    durability: Type.Union([Type.Literal('local'), Type.Literal('synchronous')], {
      description:
        'Where a write is when it is confirmed: on the disk of the database, or on that of a synchronous standby of PostgreSQL too. With local, a failover may lose confirmed writes. It does not change ready.',
    }),
    packages: Type.Boolean({
      description:
        'Whether the store of packages answers. False if an object store has not answered for 30 seconds. It does not change ready, because messages and tasks go on.',
    }),
  }),
)
export type Readiness = Static<typeof Readiness>

export const health = {
  get: endpoint({
    id: 'health.get',
    method: 'GET',
    path: '/api/health',
    caller: 'public',
    summary: 'Check liveness, and read stage and build of the service.',
    response: Health,
    errors: ['rate_limited'],
  }),
  ready: endpoint({
    id: 'health.ready',
    method: 'GET',
    path: '/api/ready',
    caller: 'public',
    summary: 'Check readiness: 200 if every check passes, otherwise 503 with the same body.',
    response: Readiness,
    errors: ['rate_limited'],
  }),
  openapi: endpoint({
    id: 'health.openapi',
    method: 'GET',
    path: '/api/openapi',
    caller: 'public',
    summary: 'Read the OpenAPI description of the running version.',
    response: Type.Record(Type.String(), Type.Unknown()),
    errors: ['rate_limited'],
  }),
}
