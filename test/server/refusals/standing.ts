/**
 * Agents that are not permitted to do anything, each with a real history: revoked, expired, disabled, fenced,
 * closed.
 */
import type { ErrorCode } from '../../../sdk/contract/errors.ts'
import type { TestAgent } from '../../support/agent.ts'
import { openStore } from '../../support/test-store.ts'
import type { World } from '../endpoints/world.ts'

export interface Standing {
  readonly code: ErrorCode
  readonly by: TestAgent
}

/** Agents that every endpoint refuses. */
export async function withoutStanding(world: World): Promise<Standing[]> {
  return [
    { code: 'credential_revoked', by: await revoked(world) },
    { code: 'credential_expired', by: await expired(world) },
    { code: 'agent_disabled', by: await disabled(world) },
    { code: 'project_archived', by: await archived(world) },
  ]
}

/** Agents that every endpoint with a session refuses. */
export async function withoutSession(world: World): Promise<Standing[]> {
  return [
    { code: 'session_fenced', by: await fenced(world) },
    { code: 'session_closed', by: await closed(world) },
    { code: 'session_unknown', by: await withForeignSession(world) },
  ]
}

async function placed(world: World) {
  const project = await world.project()
  return { project, agent: await world.agent(project) }
}

async function revoked(world: World): Promise<TestAgent> {
  const { project, agent } = await placed(world)
  const target = `/api/admin/projects/${project}/credentials/${agent.enrolled.credential_id}/revoke`
  await world.owner.ok({ target, body: {} })
  return agent
}

/**
 * No endpoint sets the expiry of a credential, so it is written into the data file, which the server reads
 * again.
 */
async function expired(world: World): Promise<TestAgent> {
  const agent = await world.enrolled()
  const database = openStore(world.bridge.data)
  try {
    database
      .prepare('UPDATE credentials SET expires_at = ? WHERE id = ?')
      .run(new Date(0).toISOString(), agent.enrolled.credential_id)
  } finally {
    database.close()
  }
  agent.session = { id: crypto.randomUUID(), generation: 1 }
  return agent
}

async function disabled(world: World): Promise<TestAgent> {
  const { project, agent } = await placed(world)
  await world.setAgent(project, agent.id, 'disabled')
  return agent
}

async function archived(world: World): Promise<TestAgent> {
  const { project, agent } = await placed(world)
  await world.setProject(project, 'archived')
  return agent
}

/** Disabling fences the session; once enabled again, the agent lacks only a session. */
async function fenced(world: World): Promise<TestAgent> {
  const { project, agent } = await placed(world)
  await world.setAgent(project, agent.id, 'disabled')
  await world.setAgent(project, agent.id, 'enabled')
  return agent
}

async function closed(world: World): Promise<TestAgent> {
  const { agent } = await placed(world)
  await agent.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  return agent
}

/** The session is alive but belongs to another agent. */
async function withForeignSession(world: World): Promise<TestAgent> {
  const { agent } = await placed(world)
  const other = await world.agent()
  agent.session = other.session
  return agent
}
