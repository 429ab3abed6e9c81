/**
 * Bridges for tests of the client: with an identity that no server knows, or with that of an agent of a real
 * server.
 */

import type { SessionStore, StoredSession } from '../../sdk/agent/session.ts'
import {
  Bridge,
  type BridgeOptions,
  generateKeyPair,
  Identity,
  type IdentityRecord,
} from '../../sdk/index.ts'
import type { TestAgent } from './agent.ts'
import type { TestBridge } from './bridge.ts'

export const adaId = '01980000-0000-7000-8000-00000000000a'
export const benId = '01980000-0000-7000-8000-00000000000b'
export const talkId = '01980000-0000-7000-8000-0000000000c0'
export const sessionId = '01980000-0000-7000-8000-0000000000e1'
export const nextSessionId = '01980000-0000-7000-8000-0000000000e2'

export const record: IdentityRecord = {
  server_id: '01980000-0000-7000-8000-000000000001',
  credential_id: '01980000-0000-7000-8000-000000000002',
  agent: { id: adaId, name: 'ada', role_name: '' },
  project: { id: '01980000-0000-7000-8000-000000000003', name: 'demo', state: 'active' },
  binding: 'key',
  scopes: ['messages'],
}

export const keys = generateKeyPair()

export const ada = (): Identity => new Identity(record, { privateKey: keys.privateKey })

export const startedSession: StoredSession = {
  instance_id: '01980000-0000-7000-8000-0000000000f1',
  session_id: sessionId,
  generation: 1,
  policy: null,
  clock_offset_ms: 0,
}

/** A store that records saved sessions; a test may change `stored`, as another process would. */
export function sharedSessions(
  stored: StoredSession = startedSession,
): SessionStore & { stored: StoredSession } {
  const store = {
    stored,
    load: async () => store.stored,
    save: async (session: StoredSession) => {
      store.stored = session
    },
  }
  return store
}

/**
 * A Bridge without pauses between attempts that listens by long-polls, because a small test node offers
 * nothing else.
 */
export const bridgeAt = (baseUrl: string, options: Partial<BridgeOptions> = {}): Bridge =>
  new Bridge({
    baseUrl,
    identity: ada(),
    sessions: sharedSessions(),
    transports: ['long-poll'],
    sleep: async () => {},
    ...options,
  })

/** An answer to a session start. */
export const session = (id = nextSessionId, generation = 2) => ({
  id,
  agent_id: adaId,
  project_id: record.project.id,
  generation,
  resumed: false,
  started_at: '2026-01-01T00:00:00.000Z',
  replaced_session_id: null,
  policy: { idle_seconds: null, empty_polls: null },
})

const connection = {
  connected: false,
  listening_now: false,
  last_contact_at: null,
  next_contact: { kind: 'unknown', expected_at: null, overdue: false },
  observed_at: '2026-01-01T00:00:00.000Z',
}

/** An answer to a send. */
export const sent = (sequence = 1) => ({ message: message(sequence), recipient: { connection } })

export const message = (sequence = 1, more = {}) => ({
  id: `01980000-0000-7000-8000-${String(sequence).padStart(12, '0')}`,
  conversation_id: talkId,
  sequence,
  sender: { kind: 'agent', agent_id: benId, name: 'ben' },
  recipient: { kind: 'agent' },
  recipient_agent_id: adaId,
  type: 'note',
  body: `number ${sequence}`,
  encoding: 'text',
  in_reply_to: null,
  root_id: '01980000-0000-7000-8000-0000000000d0',
  hops: 0,
  task_id: null,
  transfer_id: null,
  expects_reply_by: null,
  created_at: '2026-01-01T00:00:00.000Z',
  delivery: {
    stored_at: '2026-01-01T00:00:00.000Z',
    first_offered_at: '2026-01-01T00:00:01.000Z',
    offers: 1,
    acknowledged_at: null,
    attempt: 1,
  },
  ...more,
})

/** The SDK with the identity and the session of an existing test agent. */
export function bridgeOf({ url, clock }: TestBridge, agent: TestAgent): Bridge {
  const known: IdentityRecord = {
    ...(agent.enrolled as unknown as IdentityRecord),
    binding: 'key',
    scopes: ['messages', 'tasks', 'transfers'],
  }
  const sessions = sharedSessions({
    ...startedSession,
    instance_id: agent.instanceId,
    session_id: agent.session?.id ?? '',
    generation: agent.session?.generation ?? 0,
  })
  const identity = new Identity(known, { privateKey: agent.keys.privateKey })
  return new Bridge({ baseUrl: url, identity, sessions, clock })
}
