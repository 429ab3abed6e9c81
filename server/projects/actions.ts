/** Actions of the owner on projects. Contract §10. */

import type {
  Project,
  ProjectDeleted,
  ProjectDeleteInput,
  ProjectInput,
  ProjectProfileInput,
  ProjectStateInput,
} from '../../sdk/contract/owner/projects.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { changedFields } from '../database/changed-fields.ts'
import { nodeLane } from '../database/lanes.ts'
import type { PageQuery } from '../database/page.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { removeDeleted } from './removal.ts'
import { requireProjectMove } from './rules.ts'
import * as store from './store.ts'

export function listProjects(context: Context, caller: OwnerCaller, query: PageQuery) {
  return readAsOwner(context, caller, async (db) => {
    const { items: projects, ...page } = await store.listProjects(db, caller, query)
    return { projects, ...page }
  })
}

export function createProject(context: Context, caller: OwnerCaller, input: ProjectInput): Promise<Project> {
  return writeAsOwner(context, caller, nodeLane, async (tx) => {
    if (await store.isNameTaken(tx.db, input.name)) throw new ApiError('name_taken')
    const row = await store.insertProject(tx, {
      name: input.name,
      description: input.description ?? '',
      idle_seconds: input.policy?.idle_seconds ?? null,
      empty_polls: input.policy?.empty_polls ?? null,
      message_budget: input.policy?.message_budget ?? null,
      retention_days: input.policy?.retention_days ?? null,
      audit_days: input.policy?.audit_days ?? null,
    })
    await recordAudit(tx, {
      kind: 'project.created',
      actor: ownerActor(caller),
      project_id: row.id,
      subject: { type: 'project', id: row.id },
      details: { name: row.name },
    })
    return store.toProject(row)
  })
}

/** Changes the given fields. A request that changes nothing leaves no record. */
export function changeProject(
  context: Context,
  caller: OwnerCaller,
  id: string,
  { policy, ...profile }: ProjectProfileInput,
): Promise<Project> {
  return writeAsOwner(context, caller, [id, nodeLane], async (tx) => {
    const project = await store.getProject(tx.db, caller, id)
    const changed = changedFields(project, { ...profile, ...policy })
    const fields = Object.keys(changed)
    if (fields.length === 0) return store.toProject(project)
    if (changed.name !== undefined && (await store.isNameTaken(tx.db, changed.name)))
      throw new ApiError('name_taken')
    await store.updateProject(tx, id, changed)
    await recordAudit(tx, {
      kind: 'project.changed',
      actor: ownerActor(caller),
      project_id: id,
      subject: { type: 'project', id },
      details: { fields, ...(changed.name !== undefined && { from: project.name, to: changed.name }) },
    })
    return store.toProject({ ...project, ...changed, updated_at: tx.nowIso })
  })
}

/** Activates, pauses or archives a project. Open waits of its agents are notified immediately. */
export function setProjectState(
  context: Context,
  caller: OwnerCaller,
  id: string,
  { state }: ProjectStateInput,
): Promise<ProjectStateInput> {
  return writeAsOwner(context, caller, id, async (tx) => {
    const project = await store.getProject(tx.db, caller, id)
    requireProjectMove(project.state, state)
    if (project.state === state) return { state }
    await store.updateProjectState(tx, id, state)
    await recordAudit(tx, {
      kind: 'project.state_changed',
      actor: ownerActor(caller),
      project_id: id,
      subject: { type: 'project', id },
      details: { from: project.state, to: state },
    })
    const agentIds = await store.listAgentIds(tx.db, id)
    tx.afterCommit(() => {
      for (const agentId of agentIds) context.wakeups.notify(agentId)
    })
    return { state }
  })
}

/**
 * Deletes a project permanently. The answer is sent when all its data has been removed. If that fails or its
 * packages take too long, the project stays unknown to callers, and the upkeep or the next start removes the
 * rest.
 */
export async function deleteProject(
  context: Context,
  caller: OwnerCaller,
  id: string,
  { confirm_name }: ProjectDeleteInput,
): Promise<ProjectDeleted> {
  const deleted = await writeAsOwner(context, caller, [id, nodeLane], async (tx) => {
    const project = await store.getProject(tx.db, caller, id)
    requireName(project.name, confirm_name)
    await store.markDeleted(tx, id)
    // Without a project id, so that this record is not removed with the project.
    await recordAudit(tx, {
      kind: 'project.deleted',
      actor: ownerActor(caller),
      project_id: null,
      subject: { type: 'project', id },
    })
    const credentialIds = await store.listCredentialIds(tx.db, id)
    const agentIds = await store.listAgentIds(tx.db, id)
    tx.afterCommit(() => {
      for (const credentialId of credentialIds) context.identities.forget(credentialId)
      for (const agentId of agentIds) context.wakeups.notify(agentId)
    })
    return { id, deleted_at: tx.nowIso }
  })
  await removeDeleted(context, id)
  return deleted
}

/** @throws invalid_request */
function requireName(name: string, confirmed: string): void {
  if (confirmed === name) return
  const problem = 'must be exactly the name of this project'
  throw new ApiError('invalid_request', {
    message: `body/confirm_name ${problem}.`,
    details: { faults: [{ path: 'body/confirm_name', problem }] },
  })
}
