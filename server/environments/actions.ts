/** Actions of the owner on environments. Contract §10. */
import type { Environment, EnvironmentInput } from '../../sdk/contract/owner/environments.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
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
  return writeAsOwner(context, caller, async (tx) => {
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

export function getEnvironment(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly environment_id: string },
): Promise<Environment> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, ids.id)
    const environment = await store.findEnvironment(db, project.id, ids.environment_id)
    if (environment === undefined) throw new ApiError('not_found')
    return environment
  })
}
