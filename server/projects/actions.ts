/** What an owner does to projects. Contract §10. */
import type { Project, ProjectInput, ProjectStateInput } from '../../sdk/contract/owner/projects.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { PageQuery } from '../database/page.ts'
import { Fault } from '../fault.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { requireProjectMove } from './rules.ts'
import * as store from './store.ts'

export function listProjects(context: Context, caller: OwnerCaller, query: PageQuery) {
  return readAsOwner(context, caller, async (db) => {
    const { items: projects, ...page } = await store.listProjects(db, caller, query)
    return { projects, ...page }
  })
}

export function createProject(context: Context, caller: OwnerCaller, input: ProjectInput): Promise<Project> {
  return writeAsOwner(context, caller, async (tx) => {
    if (await store.isNameTaken(tx.db, input.name)) throw new Fault('name_taken')
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

/** Activate, pause or archive. Open waits hear of it at once. */
export function setProjectState(
  context: Context,
  caller: OwnerCaller,
  id: string,
  { state }: ProjectStateInput,
): Promise<ProjectStateInput> {
  return writeAsOwner(context, caller, async (tx) => {
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
