/**
 * A server in the state that a signing vector needs: its id, its clock, and the identity and sessions written
 * directly into the store, as described in `test/vectors/README.md`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningServer, startServer } from '../../server/server.ts'
import type { TestClock } from '../support/clock.ts'
import { testConfig } from '../support/config.ts'
import { makeInstallation } from '../support/installation.ts'
import { dropDatabase } from '../support/postgres.ts'
import { exchangeOne } from '../support/raw-client.ts'
import type { RawReply } from '../support/raw-replies.ts'
import { openStore, type TestStore } from '../support/test-store.ts'
import type { Vector, VectorIdentity } from '../vectors/signing-source/vector.ts'

export interface VectorServer {
  readonly port: number
  readonly clock: TestClock
  send(base64: string): Promise<RawReply>
  restart(): Promise<void>
  close(): Promise<void>
}

const project = '00000000-0000-7000-8000-000000000001'
const owner = { agent: '00000000-0000-7000-8000-00000000000a', name: 'ada' }
const stranger = { agent: '00000000-0000-7000-8000-00000000000b', name: 'ben' }
const strangerCredential = '00000000-0000-7000-8000-0000000000bb'

/** Starts a server for vectors that share identity and floor, with the sessions of all of them stored. */
export async function startVectorServer(vectors: readonly Vector[]): Promise<VectorServer> {
  const [first] = vectors
  if (first === undefined) throw new Error('no vector to stand for')
  const data = await mkdtemp(join(tmpdir(), 'bridge-vectors-'))
  const settings = { failed_auth_per_minute: '100000', rate_per_second: '100000', rate_burst: '100000' }
  const config = testConfig(data, { port: '0', log_level: 'silent', reserve_bytes: '0', ...settings })
  const clock = standingClock(new Date(first.now * 1000))
  await makeInstallation(config)
  fillStore(data, first, vectors)
  let server: RunningServer = await startServer(config, { clock, passwordCost: 4 })
  return {
    get port() {
      return server.port
    },
    clock,
    send: (base64) => exchangeOne(server.port, Buffer.from(base64, 'base64'), { until: '\nretry: ' }),
    async restart() {
      await server.stop()
      server = await startServer(config, { clock, passwordCost: 4 })
    },
    async close() {
      await server.stop()
      await dropDatabase(data)
      await rm(data, { recursive: true, force: true })
    },
  }
}

/** A clock that never advances: the edge of a window is exact, however slow the machine is. */
function standingClock(start: Date): TestClock {
  let now = start
  return Object.assign(() => now, {
    advance(seconds: number) {
      now = new Date(now.getTime() + seconds * 1000)
    },
    step(seconds: number) {
      now = new Date(now.getTime() + seconds * 1000)
    },
    set(to: Date) {
      now = to
    },
    elapsedMs: () => performance.now(),
    hold: () => () => {},
  })
}

function fillStore(
  data: string,
  { server_id, identity, floor, now }: Vector,
  vectors: readonly Vector[],
): void {
  const database = openStore(data)
  const at = new Date(now * 1000).toISOString()
  database.prepare('UPDATE server SET server_id = ?').run(server_id)
  // The node treats a store with credentials and without a floor as restored from a backup.
  database
    .prepare(
      'INSERT INTO replay_floor (one, floor) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET floor = excluded.floor',
    )
    .run(floor)
  database
    .prepare(`INSERT INTO projects (id, name, description, state, created_at, updated_at)
    VALUES (?, 'vectors', '', 'active', ?, ?)`)
    .run(project, at, at)
  const agent =
    database.prepare(`INSERT INTO agents (id, project_id, name, role_name, description, prompt_template,
    instructions, state, session_generation, created_at) VALUES (?, ?, ?, '', '', '', '', 'enabled', 9, ?)`)
  for (const each of [owner, stranger]) agent.run(each.agent, project, each.name, at)
  insertCredential(database, at, stranger.agent, { ...plainKey, credential_id: strangerCredential })
  if (identity !== null) {
    insertCredential(database, at, owner.agent, identity)
    insertSessions(database, at, identity.credential_id, vectors)
    insertMail(database, at)
  }
  database.close()
}

const plainKey = {
  binding: 'key',
  public_key: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs',
  device: null,
  secret_sha256: null,
  state: 'active',
} as const

function insertCredential(database: TestStore, at: string, agentId: string, identity: VectorIdentity): void {
  const { credential_id, binding, public_key, device, secret_sha256, state } = identity
  database
    .prepare(`INSERT INTO credentials (id, project_id, agent_id, binding, public_key, device, secret_sha256, scopes,
      fingerprint, created_at, expires_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?)`)
    .run(
      credential_id,
      project,
      agentId,
      binding,
      public_key,
      device,
      secret_sha256 === null ? null : Buffer.from(secret_sha256, 'hex'),
      JSON.stringify(['messages', 'tasks', 'transfers']),
      at,
      state === 'expired' ? at : null,
      state === 'revoked' ? at : null,
    )
}

function insertSessions(
  database: TestStore,
  at: string,
  credentialId: string,
  vectors: readonly Vector[],
): void {
  const insert = database.prepare(`INSERT INTO sessions (id, project_id, agent_id, credential_id, instance_id,
    generation, state, client_name, client_version, started_at, last_contact_at, ended_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'vectors', '1', ?, ?, ?) ON CONFLICT DO NOTHING`)
  const store = (id: string, generation: number, state: string) => {
    const foreign = state === 'foreign'
    const [agentId, credential] = foreign ? [stranger.agent, strangerCredential] : [owner.agent, credentialId]
    const stored = foreign ? 'active' : state
    insert.run(
      id,
      project,
      agentId,
      credential,
      id,
      generation,
      stored,
      at,
      at,
      stored === 'active' ? null : at,
    )
  }
  for (const { session, other_sessions } of vectors) {
    if (session !== null) store(session, 9, 'active')
    for (const [index, other] of other_sessions.entries()) store(other.id, index + 1, other.state)
  }
}

/** Inserts a message, so that a vector whose request is a long-poll is answered immediately. */
function insertMail(database: TestStore, at: string): void {
  const conversation = '00000000-0000-7000-8000-00000000000c'
  const message = '00000000-0000-7000-8000-00000000000d'
  database
    .prepare(`INSERT INTO conversations (id, project_id, kind, agent_a, last_sequence, removed_through_sequence,
      created_at) VALUES (?, ?, 'owner', ?, 1, 0, ?)`)
    .run(conversation, project, owner.agent, at)
  database
    .prepare(`INSERT INTO messages (id, project_id, conversation_id, sequence, sender_kind, sender_name, recipient_kind,
      recipient_agent_id, inbox_agent_id, type, body, encoding, root_id, hops, created_at, offers, offered_generation)
      VALUES (?, ?, ?, 1, 'owner', 'olu', 'agent', ?, ?, 'note', 'mail', 'text', ?, 0, ?, 0, 0)`)
    .run(message, project, conversation, owner.agent, owner.agent, message, at)
  database.prepare('INSERT INTO inboxes (agent_id, waiting) VALUES (?, 1)').run(owner.agent)
}
