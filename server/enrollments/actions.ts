/** Issues, reads and claims enrolments. Contract §4. */

import { createHash } from 'node:crypto'
import type { EnrollmentClaimed, EnrollmentClaimInput } from '../../sdk/contract/agent/enrollments.ts'
import { scopes as allScopes, type Scope } from '../../sdk/contract/endpoint.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type {
  Enrollment,
  EnrollmentInput,
  EnrollmentIssued,
  EnrollmentStatus,
} from '../../sdk/contract/owner/enrollments.ts'
import { fingerprint } from '../../sdk/signing/keys.ts'
import { getAgent, listUnrevoked } from '../agents/store.ts'
import { ApiError } from '../api-error.ts'
import { type Actor, ownerActor, recordAudit, wasRecorded } from '../audit/store.ts'
import { ConfigError } from '../config-error.ts'
import type { Context } from '../context.ts'
import { revoke } from '../credentials/actions.ts'
import { findCredential, insertCredential } from '../credentials/store.ts'
import { noLane } from '../database/lanes.ts'
import type { Tx } from '../database/tx.ts'
import type { OwnerCaller, PublicCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { authorityOf } from '../listening/authority.ts'
import { getProject } from '../projects/store.ts'
import { retryAfterMs } from '../retry-after.ts'
import { requirePossession } from './possession.ts'
import { enrollmentPrompt } from './prompt.ts'
import { judgeClaim, stateOf } from './rules.ts'
import * as store from './store.ts'

const codeDigest = (code: string): Buffer => createHash('sha256').update(code, 'ascii').digest()

export function createEnrollment(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly agent_id: string },
  input: EnrollmentInput,
): Promise<EnrollmentIssued> {
  const authority = readAuthority(context)
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    if (project.state === 'archived') throw new ApiError('project_archived')
    const agent = await getAgent(tx.db, project.id, ids.agent_id)
    if (agent.state === 'disabled') throw new ApiError('agent_disabled')
    for (const { id } of await store.revokePending(tx, agent.id))
      await recordAudit(tx, {
        kind: 'enrollment.revoked',
        actor: ownerActor(caller),
        project_id: project.id,
        subject: { type: 'enrollment', id },
        details: { agent_id: agent.id, reason: 'replaced' },
      })
    const code = `enroll_${context.random(18).toString('base64url')}`
    const ttl = input.ttl_seconds ?? limits.enrollmentTtlSeconds.default
    const binding = input.binding ?? 'key'
    const ends_at = tx.endIn(ttl)
    const expires_at = context.steady.wall(ends_at)
    const enrollment_id = await store.insertEnrollment(tx, {
      project_id: project.id,
      agent_id: agent.id,
      code_sha256: codeDigest(code),
      binding,
      scopes: JSON.stringify(input.scopes ?? allScopes),
      keep_existing: input.keep_existing ? 1 : 0,
      expires_at: ends_at,
    })
    await recordAudit(tx, {
      kind: 'enrollment.created',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'enrollment', id: enrollment_id },
      details: { agent_id: agent.id, binding, expires_at },
    })
    const prompt = enrollmentPrompt({
      agentId: agent.id,
      agentName: agent.name,
      projectName: project.name,
      url: context.portalOrigin(),
      code,
      binding,
      expiresAt: expires_at,
      client: context.client.find()?.description,
      authority,
    })
    return { enrollment_id, prompt, expires_at }
  })
}

/** @throws unavailable while the file is being replaced */
function readAuthority({ config }: Context): string | undefined {
  try {
    return authorityOf(config)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ApiError('unavailable', { message: error.message, retryAfterMs: retryAfterMs.otherParty })
  }
}

export function getEnrollment(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly agent_id: string; readonly enrollment_id: string },
): Promise<EnrollmentStatus> {
  return readAsOwner(context, caller, async (db) => {
    await getProject(db, caller, ids.id)
    const row = await store.findEnrollment(db, ids)
    if (row === undefined) throw new ApiError('not_found')
    return store.toStatus(row, context.steady)
  })
}

export function listEnrollments(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  query: store.EnrollmentQuery,
) {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const { items: enrollments, ...page } = await store.listEnrollments(db, project.id, query, context.steady)
    return { enrollments, ...page }
  })
}

export function readEnrollment(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly enrollment_id: string },
): Promise<Enrollment> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, ids.id)
    const row = await store.findInProject(db, project.id, ids.enrollment_id)
    if (row === undefined) throw new ApiError('not_found')
    return store.toEnrollment(row, context.steady)
  })
}

/** Revokes a pending enrolment. Revoking again succeeds; a claimed or expired one cannot be revoked. */
export function revokeEnrollment(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly enrollment_id: string },
): Promise<Enrollment> {
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    const row = await store.findInProject(tx.db, project.id, ids.enrollment_id)
    if (row === undefined) throw new ApiError('not_found')
    const state = stateOf(row, tx.steadyNow)
    if (state === 'revoked') return store.toEnrollment(row, context.steady)
    if (state !== 'pending') {
      const message =
        state === 'claimed'
          ? 'This enrolment was claimed. Revoke the credential that it created instead.'
          : 'This enrolment has expired. Its code can no longer be used.'
      throw new ApiError('state_conflict', { message, details: { state } })
    }
    await store.markRevoked(tx, row.id)
    await recordAudit(tx, {
      kind: 'enrollment.revoked',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'enrollment', id: row.id },
      details: { agent_id: row.agent_id },
    })
    return store.toEnrollment({ ...row, state: 'revoked' }, context.steady)
  })
}

/** Needs no authentication: the code and the proof of possession identify the caller. */
export async function claimEnrollment(
  context: Context,
  caller: PublicCaller,
  input: EnrollmentClaimInput,
  deviceHeader: string | undefined,
): Promise<EnrollmentClaimed> {
  try {
    const code = codeDigest(input.code)
    await requirePossession(input, code, deviceHeader)
    const found = await context.read((db) => store.findByCode(db, code))
    // Without a project the unit refuses the code and makes no ids.
    const outcome = await context.write(found?.project_id ?? noLane, (tx) =>
      claim(context, tx, caller, input, code),
    )
    // A second use is returned and thrown afterwards, because a throw inside the unit would undo its audit
    // record.
    if (outcome instanceof ApiError) throw outcome
    return outcome
  } catch (error) {
    const refusal = error instanceof ApiError ? error : undefined
    if (refusal?.status === 401 || refusal?.code === 'enrollment_used')
      context.throttle.countFailure('enrollment', caller.address)
    throw error
  }
}

async function claim(
  context: Context,
  tx: Tx,
  caller: PublicCaller,
  input: EnrollmentClaimInput,
  code: Buffer,
): Promise<EnrollmentClaimed | ApiError> {
  const found = await store.findByCode(tx.db, code)
  if (found === undefined) throw new ApiError('unauthenticated', { message: 'No enrolment has this code.' })
  const earlier =
    found.credential_id === null
      ? undefined
      : await findCredential(tx.db, found.project_id, found.credential_id)
  const outcome = judgeClaim(
    found,
    earlier,
    { public_key: input.public_key, device: input.device },
    tx.steadyNow,
  )
  if (outcome === 'repeat' && earlier) return claimed(context, tx, found, earlier.id)
  if (outcome === 'enrollment_used') return refuseSecondUse(tx, caller, found)
  if (outcome !== 'claim') throw new ApiError(outcome === 'repeat' ? 'internal' : outcome)
  if (found.project_state === 'archived') throw new ApiError('project_archived')
  if (found.agent_state === 'disabled') throw new ApiError('agent_disabled')
  return claimed(context, tx, found, await bind(context, tx, caller, found, input))
}

/**
 * Makes the key the agent's credential and revokes earlier credentials, unless the owner chose to keep them.
 */
async function bind(
  context: Context,
  tx: Tx,
  caller: PublicCaller,
  found: store.EnrollmentView,
  input: EnrollmentClaimInput,
): Promise<string> {
  const actor: Actor = {
    kind: 'agent',
    id: found.agent_id,
    name: found.agent_name,
    request_id: caller.request_id,
  }
  const revocation = { actor, project_id: found.project_id, reason: 'enrolled_again' }
  const earlier = found.keep_existing === 1 ? [] : await listUnrevoked(tx.db, found.agent_id)
  for (const { id } of earlier) await revoke(context, tx, id, revocation)
  const credentialId = await insertCredential(tx, {
    project_id: found.project_id,
    agent_id: found.agent_id,
    binding: found.binding,
    public_key: input.public_key,
    device: input.device ?? null,
    scopes: found.scopes,
    fingerprint: fingerprint(input.public_key),
  })
  await store.markClaimed(tx, found.id, credentialId)
  await recordAudit(tx, {
    kind: 'enrollment.claimed',
    actor,
    project_id: found.project_id,
    subject: { type: 'enrollment', id: found.id },
    details: {
      credential_id: credentialId,
      fingerprint: fingerprint(input.public_key),
      client: input.client,
    },
  })
  return credentialId
}

const reuseRecordEveryMs = 3_600_000

/**
 * Records only the first reuse per hour. The owner learns of it, and a leaked code cannot fill the database.
 */
async function refuseSecondUse(tx: Tx, caller: PublicCaller, found: store.EnrollmentView): Promise<ApiError> {
  const since = new Date(tx.steadyNow.getTime() - reuseRecordEveryMs).toISOString()
  if (await wasRecorded(tx, { kind: 'enrollment.reused', ...found, since }))
    return new ApiError('enrollment_used')
  await recordAudit(tx, {
    kind: 'enrollment.reused',
    actor: { kind: 'anonymous', id: null, name: 'anonymous', request_id: caller.request_id },
    project_id: found.project_id,
    subject: { type: 'enrollment', id: found.id },
    details: { agent_id: found.agent_id, address: caller.address },
  })
  return new ApiError('enrollment_used')
}

function claimed(
  context: Context,
  tx: Tx,
  found: store.EnrollmentView,
  credentialId: string,
): EnrollmentClaimed {
  return {
    server_id: context.serverId,
    server_time: tx.nowIso,
    agent: { id: found.agent_id, name: found.agent_name, role_name: found.role_name },
    project: { id: found.project_id, name: found.project_name, state: found.project_state },
    credential_id: credentialId,
    binding: found.binding,
    scopes: JSON.parse(found.scopes) as Scope[],
  }
}
