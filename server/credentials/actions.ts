/**
 * Issues legacy credentials and revokes credentials. Revoking fences the sessions and ends waits immediately.
 * Contract §3.
 */
import { scopes as allScopes } from '../../sdk/contract/endpoint.ts'
import type {
  Credential,
  CredentialInput,
  CredentialIssued,
  RevokeResult,
} from '../../sdk/contract/owner/credentials.ts'
import { getAgent } from '../agents/store.ts'
import { ApiError } from '../api-error.ts'
import { type Actor, ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { secretDigest } from '../identity/verifier.ts'
import { getProject } from '../projects/store.ts'
import { fence } from '../sessions/fencing.ts'
import * as store from './store.ts'

/** Revokes one unrevoked credential in the caller's transaction. */
export async function revoke(
  context: Context,
  tx: Tx,
  id: string,
  cause: { readonly actor: Actor; readonly project_id: string; readonly reason: string },
): Promise<void> {
  await store.markRevoked(tx, id)
  await recordAudit(tx, {
    kind: 'credential.revoked',
    actor: cause.actor,
    project_id: cause.project_id,
    subject: { type: 'credential', id },
    details: { reason: cause.reason },
  })
  await fence(context, tx, { credentialId: id }, { ...cause, reason: 'credential_revoked' })
  tx.afterCommit(() => context.identities.forget(id))
}

export function revokeCredential(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly credential_id: string },
): Promise<RevokeResult> {
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    const credential = await store.findCredential(tx.db, project.id, ids.credential_id)
    if (credential === undefined) throw new ApiError('not_found')
    if (credential.revoked_at !== null) {
      return { credential_id: credential.id, revoked_at: credential.revoked_at, already: true }
    }
    const cause = { actor: ownerActor(caller), project_id: project.id, reason: 'owner' }
    await revoke(context, tx, credential.id, cause)
    return { credential_id: credential.id, revoked_at: tx.nowIso, already: false }
  })
}

/**
 * Issues a legacy credential, for clients that cannot sign. The secret is returned once; only its hash is
 * stored.
 *
 * `expires_at` is a date that the owner chose, so it is compared with the wall clock, here and at each use.
 */
export function issueLegacy(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly agent_id: string },
  input: CredentialInput,
): Promise<CredentialIssued> {
  const secret = context.random(32).toString('base64url')
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    if (input.expires_at !== undefined && input.expires_at <= tx.nowIso) throw expiryHasPassed()
    const project = await getProject(tx.db, caller, ids.id)
    if (project.state === 'archived') throw new ApiError('project_archived')
    const agent = await getAgent(tx.db, project.id, ids.agent_id)
    if (agent.state === 'disabled') throw new ApiError('agent_disabled')
    const cause = { actor: ownerActor(caller), project_id: project.id, reason: 'replaced' }
    if (input.replaces !== undefined) await replaceOne(context, tx, agent.id, input.replaces, cause)
    const secretSha256 = secretDigest(secret)
    const id = await store.insertCredential(tx, {
      project_id: project.id,
      agent_id: agent.id,
      binding: 'legacy',
      public_key: null,
      device: null,
      secret_sha256: secretSha256,
      scopes: JSON.stringify(input.scopes ?? allScopes),
      // The stored hash in base64, so that a list can be compared with a credential file
      // without revealing the secret.
      fingerprint: `SHA256:${secretSha256.toString('base64').replace(/=+$/, '')}`,
      expires_at: input.expires_at ?? null,
    })
    await recordAudit(tx, {
      kind: 'credential.issued',
      ...cause,
      subject: { type: 'credential', id },
      details: { agent_id: agent.id, binding: 'legacy', expires_at: input.expires_at ?? null },
    })
    const row = await store.findCredential(tx.db, project.id, id)
    if (row === undefined) throw new Error('a credential that was just inserted is missing')
    return { credential: store.toCredential(row), secret }
  })
}

const expiryHasPassed = (): ApiError => {
  const problem = 'must be in the future'
  return new ApiError('invalid_request', {
    message: `body/expires_at ${problem}.`,
    details: { faults: [{ path: 'body/expires_at', problem }] },
  })
}

async function replaceOne(
  context: Context,
  tx: Tx,
  agentId: string,
  id: string,
  cause: { readonly actor: Actor; readonly project_id: string; readonly reason: string },
): Promise<void> {
  const replaced = await store.findCredential(tx.db, cause.project_id, id)
  if (replaced === undefined || replaced.agent_id !== agentId) {
    throw new ApiError('not_found', { message: 'replaces is not the id of a credential of this agent.' })
  }
  if (replaced.revoked_at === null) await revoke(context, tx, replaced.id, cause)
}

export function listCredentials(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  query: store.ByAgentQuery,
) {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const { items: credentials, ...page } = await store.listCredentials(db, project.id, query)
    return { credentials, ...page }
  })
}

export function getCredential(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly credential_id: string },
): Promise<Credential> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, ids.id)
    const row = await store.findCredential(db, project.id, ids.credential_id)
    if (row === undefined) throw new ApiError('not_found')
    return store.toCredential(row)
  })
}
