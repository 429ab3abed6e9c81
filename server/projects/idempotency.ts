/**
 * Idempotent requests of a person in a project. Access to the project is checked before a stored answer is
 * returned, so that an administrator who lost access cannot read it by repeating an old request.
 *
 * Contract §2 "Order", "Idempotency".
 */
import type { ProjectRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { type Answer, type Keyed, once } from '../idempotency.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { getProject } from './store.ts'

/** @throws not_found, idempotency_conflict, the errors of the effect */
export async function onceInProject(
  tx: Tx,
  caller: OwnerCaller,
  projectId: string,
  keyed: Keyed,
  effect: (project: ProjectRow) => Promise<object>,
): Promise<Answer> {
  const project = await getProject(tx.db, caller, projectId)
  return once(tx, { id: caller.user_id, project_id: project.id }, keyed, () => effect(project))
}
