/**
 * Many agents, written directly into the data file of a stopped server. Enrolling ten thousand agents one by
 * one would take minutes, and the rows are the same.
 */
import { randomUUID } from 'node:crypto'
import { generateKeyPair, type KeyPair } from '../../sdk/signing/keys.ts'
import { TestAgent } from './agent.ts'
import { isOnPostgres } from './postgres.ts'
import { openStore } from './test-store.ts'

export interface Seeded {
  readonly keys: KeyPair
  readonly agentId: string
  readonly credentialId: string
  readonly sessionId: string
}

export interface Population {
  readonly projectId: string
  readonly agents: readonly Seeded[]
  /** conversations[i] is between agents[i % senders] and agents[i]. */
  readonly conversations: readonly string[]
}

/** Inserts `count` agents with a session, each paired with one of the first `senders`. */
export function populate(data: string, count: number, senders: number): Population {
  const now = new Date().toISOString()
  const projectId = randomUUID()
  const agents = Array.from({ length: count }, () => ({
    keys: generateKeyPair(),
    agentId: randomUUID(),
    credentialId: randomUUID(),
    sessionId: randomUUID(),
  }))
  const database = openStore(data)
  const insert = (table: string, row: Readonly<Record<string, string | number | null>>) => {
    const names = Object.keys(row)
    const places = names.map(() => '?').join(', ')
    database
      .prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`)
      .run(...Object.values(row))
  }
  try {
    database.exec('BEGIN')
    insert('projects', {
      ...{ id: projectId, name: projectId, description: '', state: 'active', message_budget: 1_000_000 },
      ...{ created_at: now, updated_at: now },
    })
    if (isOnPostgres) insert('lanes', { lane: projectId, last: '' })
    for (const agent of agents) insertAgent(insert, projectId, agent, now)
    const conversations = agents.map((agent, index) => {
      const sender = agents[index % senders] as Seeded
      const [agent_a, agent_b] = [sender.agentId, agent.agentId].sort() as [string, string]
      if (agent_a === agent_b) return ''
      const pair = { project_id: projectId, agent_a, agent_b }
      insert('pairings', { id: randomUUID(), ...pair, enabled: 1, updated_at: now })
      const id = randomUUID()
      const counts = { last_sequence: 0, removed_through_sequence: 0 }
      insert('conversations', { id, ...pair, kind: 'peer', ...counts, created_at: now })
      return id
    })
    database.exec('COMMIT')
    return { projectId, agents, conversations }
  } finally {
    database.close()
  }
}

type Insert = (table: string, row: Readonly<Record<string, string | number | null>>) => void

function insertAgent(insert: Insert, project_id: string, agent: Seeded, now: string): void {
  const words = { role_name: '', description: '', prompt_template: '', instructions: '' }
  insert('agents', {
    ...{ id: agent.agentId, project_id, name: agent.agentId, ...words },
    ...{ state: 'enabled', session_generation: 1, created_at: now },
  })
  insert('credentials', {
    ...{ id: agent.credentialId, project_id, agent_id: agent.agentId, binding: 'key' },
    ...{ public_key: agent.keys.publicKey, scopes: '["messages","tasks","transfers"]' },
    ...{ fingerprint: '', created_at: now },
  })
  insert('sessions', {
    ...{ id: agent.sessionId, project_id, agent_id: agent.agentId, credential_id: agent.credentialId },
    ...{
      instance_id: randomUUID(),
      generation: 1,
      state: 'active',
      client_name: 'test',
      client_version: '1',
    },
    ...{ started_at: now, last_contact_at: now },
  })
}

export function asTestAgent(
  server: { readonly url: string; readonly serverId: string },
  projectId: string,
  seeded: Seeded,
): TestAgent {
  const enrolled = {
    server_id: server.serverId,
    credential_id: seeded.credentialId,
    agent: { id: seeded.agentId, name: seeded.agentId },
    project: { id: projectId },
  }
  const agent = new TestAgent(server.url, seeded.keys, enrolled, () => new Date())
  agent.session = { id: seeded.sessionId, generation: 1 }
  return agent
}
