/**
 * Many agents, written directly into the data file of a stopped server. Enrolling ten thousand agents one by
 * one would take minutes, and the rows are the same.
 */
import { randomUUID } from 'node:crypto'
import { generateKeyPair, type KeyPair } from '../../sdk/signing/keys.ts'
import { TestAgent } from './agent.ts'
import { isOnPostgres } from './postgres.ts'
import { openStore, type TestStore } from './test-store.ts'

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
  const insert = (table: string, rows: readonly Row[]) => insertRows(database, table, rows)
  try {
    database.exec('BEGIN')
    insert('projects', [
      {
        ...{ id: projectId, name: projectId, description: '', state: 'active', message_budget: 1_000_000 },
        ...{ created_at: now, updated_at: now },
      },
    ])
    if (isOnPostgres) insert('lanes', [{ lane: projectId, last: '' }])
    const own = agents.map((agent) => rowsOf(projectId, agent, now))
    for (const table of ['agents', 'credentials', 'sessions'] as const)
      insert(
        table,
        own.map((rows) => rows[table]),
      )
    const pairs = agents.flatMap((agent, index) => {
      const sender = agents[index % senders] as Seeded
      const [agent_a, agent_b] = [sender.agentId, agent.agentId].sort() as [string, string]
      return agent_a === agent_b ? [] : [{ index, project_id: projectId, agent_a, agent_b }]
    })
    const open = { enabled: 1, updated_at: now }
    insert(
      'pairings',
      pairs.map(({ index: _, ...pair }) => ({ id: randomUUID(), ...pair, ...open })),
    )
    const conversations = agents.map(() => '')
    for (const { index } of pairs) conversations[index] = randomUUID()
    const fresh = { kind: 'peer', last_sequence: 0, removed_through_sequence: 0, created_at: now }
    insert(
      'conversations',
      pairs.map(({ index, ...pair }) => ({ id: conversations[index] ?? '', ...pair, ...fresh })),
    )
    database.exec('COMMIT')
    return { projectId, agents, conversations }
  } finally {
    database.close()
  }
}

type Row = Readonly<Record<string, string | number | null>>

/** On PostgreSQL each statement waits for its answer. */
const rowsAtOnce = 500

/** Inserts rows with the same columns. */
function insertRows(database: TestStore, table: string, rows: readonly Row[]): void {
  const names = Object.keys(rows[0] ?? {})
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    const some = rows.slice(start, start + rowsAtOnce)
    const places = some.map(() => `(${names.map(() => '?').join(', ')})`).join(', ')
    const values = some.flatMap((row) => names.map((name) => row[name] ?? null))
    database.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES ${places}`).run(...values)
  }
}

function rowsOf(project_id: string, agent: Seeded, now: string) {
  const words = { role_name: '', description: '', prompt_template: '', instructions: '' }
  const own = { project_id, agent_id: agent.agentId }
  const client = { client_name: 'test', client_version: '1' }
  return {
    agents: {
      ...{ id: agent.agentId, project_id, name: agent.agentId, ...words },
      ...{ state: 'enabled', session_generation: 1, created_at: now },
    },
    credentials: {
      ...{ id: agent.credentialId, ...own, binding: 'key', public_key: agent.keys.publicKey },
      ...{ scopes: '["messages","tasks","transfers"]', fingerprint: '', created_at: now },
    },
    sessions: {
      ...{ id: agent.sessionId, ...own, credential_id: agent.credentialId, instance_id: randomUUID() },
      ...{ generation: 1, state: 'active', ...client, started_at: now, last_contact_at: now },
    },
  }
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
