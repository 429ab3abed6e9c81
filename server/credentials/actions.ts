/** Revoking credentials: sessions are fenced and waits end at once. Contract §3. */
import type { RevokeResult } from '../../sdk/contract/owner/credentials.ts'
import { type Actor, ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { PageQuery } from '../database/page.ts'
import type { Tx } from '../database/transaction.ts'
import { Fault } from '../fault.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import { fence } from '../sessions/fencing.ts'
import * as store from './store.ts'

/** In the caller's transaction: revoke one credential that is not revoked yet. */
export async function revoke(
  context: Context,
  tx: Tx,
  id: string,
  why: { readonly actor: Actor; readonly project_id: string; readonly reason: string },
): Promise<void> {
  await store.markRevoked(tx, id)
  await recordAudit(tx, {
    kind: 'credential.revoked',
    actor: why.actor,
    project_id: why.project_id,
    subject: { type: 'credential', id },
    details: { reason: why.reason },
  })
  await fence(context, tx, { credentialId: id }, { ...why, reason: 'credential_revoked' })
  tx.afterCommit(() => context.identities.forget(id))
}

export function revokeCredential(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly credential_id: string },
): Promise<RevokeResult> {
  return writeAsOwner(context, caller, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    const credential = await store.findCredential(tx.db, project.id, ids.credential_id)
    if (credential === undefined) throw new Fault('not_found')
    if (credential.revoked_at !== null) {
      return { credential_id: credential.id, revoked_at: credential.revoked_at, already: true }
    }
    const why = { actor: ownerActor(caller), project_id: project.id, reason: 'owner' }
    await revoke(context, tx, credential.id, why)
    return { credential_id: credential.id, revoked_at: tx.nowIso, already: false }
  })
}

export function listCredentials(context: Context, caller: OwnerCaller, projectId: string, query: PageQuery) {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const { items: credentials, ...page } = await store.listCredentials(db, project.id, query)
    return { credentials, ...page }
  })
}
