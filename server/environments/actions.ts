/** Actions of the owner on environments. Contract §10. */
import type {
  Environment,
  EnvironmentInput,
  EnvironmentProfileInput,
} from '../../sdk/contract/owner/environments.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { changedFields } from '../database/changed-fields.ts'
import type { PageQuery } from '../database/page.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import * as store from './store.ts'

export function createEnvironment(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  input: EnvironmentInput,
): Promise<Environment> {
  return writeAsOwner(context, caller, projectId, async (tx) => {
    const project = await getProject(tx.db, caller, projectId)
    if (await store.isNameTaken(tx.db, project.id, input.name)) throw new ApiError('name_taken')
    const environment = await store.insertEnvironment(tx, project.id, input)
    await recordAudit(tx, {
      kind: 'environment.created',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'environment', id: environment.id },
      details: { name: environment.name, kind: environment.kind },
    })
    return environment
  })
}

export function listEnvironments(context: Context, caller: OwnerCaller, projectId: string, query: PageQuery) {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const { items: environments, ...page } = await store.listEnvironments(db, project.id, query)
    return { environments, ...page }
  })
}

interface EnvironmentIds {
  readonly id: string
  readonly environment_id: string
}

export function getEnvironment(
  context: Context,
  caller: OwnerCaller,
  ids: EnvironmentIds,
): Promise<Environment> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, ids.id)
    return store.getEnvironment(db, project.id, ids.environment_id)
  })
}

/** Changes the given fields. A request that changes nothing leaves no record. */
export function changeEnvironment(
  context: Context,
  caller: OwnerCaller,
  ids: EnvironmentIds,
  input: EnvironmentProfileInput,
): Promise<Environment> {
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    const environment = await store.getEnvironment(tx.db, project.id, ids.environment_id)
    const changed = changedFields(environment, input)
    const fields = Object.keys(changed)
    if (fields.length === 0) return environment
    if (changed.name !== undefined && (await store.isNameTaken(tx.db, project.id, changed.name)))
      throw new ApiError('name_taken')
    await store.updateEnvironment(tx, environment.id, changed)
    await recordAudit(tx, {
      kind: 'environment.changed',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'environment', id: environment.id },
      details: { fields, ...(changed.name !== undefined && { from: environment.name, to: changed.name }) },
    })
    return { ...environment, ...changed }
  })
}
