/** Actions of the owner on agents. Contract §10. */

import { limits } from '../../sdk/contract/limits.ts'
import type {
  Agent,
  AgentCreated,
  AgentInput,
  AgentInstructionInput,
  AgentInstructionPreview,
  AgentNamed,
  AgentNameInput,
  AgentProfileInput,
  AgentStateInput,
} from '../../sdk/contract/owner/agents.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import { renderInstructions } from '../bootstrap/instructions.ts'
import type { Context } from '../context.ts'
import { changedFields } from '../database/changed-fields.ts'
import { toPage } from '../database/page.ts'
import type { Db, ProjectRow } from '../database/tables.ts'
import { findEnvironment } from '../environments/store.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import { fence } from '../sessions/fencing.ts'
import * as store from './store.ts'

export function createAgent(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  input: AgentInput,
): Promise<AgentCreated> {
  return writeAsOwner(context, caller, projectId, async (tx) => {
    const project = await getProject(tx.db, caller, projectId)
    const { environment_id = null } = input
    await requireEnvironment(tx.db, project.id, environment_id)
    requireAgentName(input.name)
    if (await store.isNameTaken(tx.db, project.id, input.name)) throw new ApiError('name_taken')
    const id = await store.insertAgent(tx, {
      project_id: project.id,
      environment_id,
      name: input.name,
      role_name: input.role_name ?? '',
      description: input.description ?? '',
      prompt_template: input.prompt_template ?? '',
    })
    await recordAudit(tx, {
      kind: 'agent.created',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'agent', id },
      details: { name: input.name },
    })
    return { agent: view(context, await store.getAgent(tx.db, project.id, id)) }
  })
}

/**
 * Refuses the word that addresses the person: a message to `owner` never reaches an agent of that name.
 * @throws invalid_request
 */
function requireAgentName(name: string): void {
  if (name.toLowerCase() !== 'owner') return
  const problem = 'must not be "owner", which is the word for the owner'
  throw new ApiError('invalid_request', {
    message: `body/name ${problem}.`,
    details: { faults: [{ path: 'body/name', problem }] },
  })
}

/** @throws not_found */
async function requireEnvironment(db: Db, projectId: string, id: string | null): Promise<void> {
  if (id === null || (await findEnvironment(db, projectId, id))) return
  throw new ApiError('not_found', {
    message: 'environment_id is not the id of an environment in this project.',
  })
}

const view = ({ presence, steady }: Context, row: store.AgentView): Agent =>
  store.toAgent(row, presence.connection(row.id, steady.now(), row))

export function listAgents(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  query: store.AgentQuery,
) {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const rows = await store.listAgents(db, project.id, query)
    const limit = query.limit ?? limits.pageDefault
    const { items: agents, ...page } = toPage(rows, limit, query.after, (row) => view(context, row))
    return { agents, ...page }
  })
}

export function getAgent(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly agent_id: string },
): Promise<Agent> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, ids.id)
    return view(context, await store.getAgent(db, project.id, ids.agent_id))
  })
}

/** Enables or disables an agent. Disabling fences its session and ends its waits immediately. */
export function setAgentState(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly agent_id: string },
  { state }: AgentStateInput,
): Promise<AgentStateInput> {
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    const agent = await store.getAgent(tx.db, project.id, ids.agent_id)
    if (agent.state === state) return { state }
    await store.updateAgentState(tx, agent.id, state)
    const cause = { actor: ownerActor(caller), project_id: project.id }
    await recordAudit(tx, {
      kind: state === 'disabled' ? 'agent.disabled' : 'agent.enabled',
      ...cause,
      subject: { type: 'agent', id: agent.id },
    })
    if (state === 'disabled')
      await fence(context, tx, { agentId: agent.id }, { ...cause, reason: 'agent_disabled' })
    tx.afterCommit(() => context.wakeups.notify(agent.id))
    return { state }
  })
}

interface AgentIds {
  readonly id: string
  readonly agent_id: string
}

/** Renames an agent. The old name is immediately free. Messages keep the name under which they were sent. */
export function renameAgent(
  context: Context,
  caller: OwnerCaller,
  ids: AgentIds,
  { name }: AgentNameInput,
): Promise<AgentNamed> {
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    const agent = await store.getAgent(tx.db, project.id, ids.agent_id)
    if (agent.name === name) return { id: agent.id, name }
    requireAgentName(name)
    if (await store.isNameTaken(tx.db, project.id, name)) throw new ApiError('name_taken')
    await store.updateName(tx, agent.id, name)
    await recordAudit(tx, {
      kind: 'agent.renamed',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'agent', id: agent.id },
      details: { from: agent.name, to: name },
    })
    const credentials = await store.listUnrevoked(tx.db, agent.id)
    tx.afterCommit(() => {
      for (const { id } of credentials) context.identities.forget(id)
    })
    return { id: agent.id, name }
  })
}

/** Changes the given fields. A request that changes nothing leaves no record. */
export function changeAgent(
  context: Context,
  caller: OwnerCaller,
  ids: AgentIds,
  input: AgentProfileInput,
): Promise<Agent> {
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    const agent = await store.getAgent(tx.db, project.id, ids.agent_id)
    const changed = changedFields(agent, input)
    const fields = Object.keys(changed)
    if (fields.length === 0) return view(context, agent)
    await requireEnvironment(tx.db, project.id, changed.environment_id ?? null)
    await store.updateProfile(tx, agent.id, changed)
    await recordAudit(tx, {
      kind: 'agent.changed',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'agent', id: agent.id },
      details: { fields },
    })
    return view(context, { ...agent, ...changed })
  })
}

/** @throws not_found; state_conflict if the instructions are newer than the caller's */
export function saveInstructions(
  context: Context,
  caller: OwnerCaller,
  ids: AgentIds,
  { instructions, if_updated_at }: AgentInstructionInput,
): Promise<AgentInstructionPreview> {
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    const agent = await store.getAgent(tx.db, project.id, ids.agent_id)
    const { instructions_updated_at: updated_at } = agent
    if (if_updated_at !== undefined && if_updated_at !== updated_at) {
      throw new ApiError('state_conflict', {
        message: 'The instructions were saved since they were read. Read them again.',
        details: { updated_at },
      })
    }
    await store.updateInstructions(tx, agent.id, instructions, laterThan(updated_at, tx.nowIso))
    await recordAudit(tx, {
      kind: 'agent.instructed',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'agent', id: agent.id },
      details: { bytes: Buffer.byteLength(instructions) },
    })
    return preview(project, await store.getAgent(tx.db, project.id, agent.id))
  })
}

/** Returns `now`, or the millisecond after it if the last state has the same time. */
const laterThan = (last: string | null, now: string): string =>
  last === now ? new Date(Date.parse(now) + 1).toISOString() : now

/** Renders the instructions as the agent would get them now. Changes nothing. */
export function previewInstructions(
  context: Context,
  caller: OwnerCaller,
  ids: AgentIds,
): Promise<AgentInstructionPreview> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, ids.id)
    return preview(project, await store.getAgent(db, project.id, ids.agent_id))
  })
}

const preview = (project: ProjectRow, agent: store.AgentView): AgentInstructionPreview => ({
  instructions: agent.instructions,
  rendered: renderInstructions({ ...agent, project_name: project.name }),
  updated_at: agent.instructions_updated_at,
})
