/**
 * Actions of the owner on administrators: create, link, assign projects, disable.
 *
 * A new administrator signs in with a one-time link and sets its own password, so that nobody else knows it.
 *
 * Contract §10.
 */

import type { AuditKindOf } from '../../sdk/contract/audit-kinds.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type {
  Administrator,
  AdministratorInput,
  AdministratorLink,
  AdministratorLinkInput,
  AdministratorStateInput,
  AssignmentInput,
} from '../../sdk/contract/owner/administrators.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { nodeLane } from '../database/lanes.ts'
import type { PageQuery } from '../database/page.ts'
import type { Tx } from '../database/tx.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, tokenDigest, writeAsOwner } from '../identity/owner.ts'
import { linkUrl } from '../owners/links.ts'
import { endAllSessions, findUser, removeLinksOf, replaceLink } from '../owners/store.ts'
import { getProject } from '../projects/store.ts'
import * as store from './store.ts'

export function listAdministrators(context: Context, caller: OwnerCaller, query: PageQuery) {
  return readAsOwner(context, caller, async (db) => {
    const { items: administrators, ...page } = await store.listAdministrators(db, query)
    return { administrators, ...page }
  })
}

export function createAdministrator(
  context: Context,
  caller: OwnerCaller,
  input: AdministratorInput,
): Promise<AdministratorLink> {
  const token = context.random(32).toString('base64url')
  return writeAsOwner(context, caller, nodeLane, async (tx) => {
    if ((await findUser(tx.db, input.name)) !== undefined) throw new ApiError('name_taken')
    const id = await store.insertAdministrator(tx, input.name)
    await record(tx, caller, { kind: 'administrator.created', id, details: { name: input.name } })
    return issueLink(context, tx, { id, token, ttl: input.ttl_seconds })
  })
}

/**
 * Makes a new link for an administrator who lost the password. The old password stays valid until a new one
 * is set.
 */
export function linkAdministrator(
  context: Context,
  caller: OwnerCaller,
  id: string,
  input: AdministratorLinkInput,
): Promise<AdministratorLink> {
  const token = context.random(32).toString('base64url')
  return writeAsOwner(context, caller, nodeLane, async (tx) => {
    const { state } = await store.getAdministrator(tx.db, id)
    if (state === 'disabled') {
      throw new ApiError('state_conflict', {
        message: 'This administrator is disabled; enable it first.',
        details: { state },
      })
    }
    const issued = await issueLink(context, tx, { id, token, ttl: input.ttl_seconds })
    const details = { expires_at: issued.expires_at }
    await record(tx, caller, { kind: 'administrator.link_made', id, details })
    return issued
  })
}

interface Link {
  readonly id: string
  readonly token: string
  readonly ttl: number | undefined
}

/** Issues a link. It replaces an earlier link of the same person. */
async function issueLink(context: Context, tx: Tx, { id, token, ttl }: Link): Promise<AdministratorLink> {
  const seconds = ttl ?? limits.administratorLinkTtlSeconds.default
  const expires_at = tx.endIn(seconds)
  await replaceLink(tx, { token_sha256: tokenDigest(token), kind: 'sign_in', user_id: id, expires_at })
  const administrator = await store.viewAdministrator(tx.db, id)
  const link = linkUrl(context.portalOrigin(), 'sign_in', token)
  return { administrator, link, expires_at: context.steady.wall(expires_at) }
}

/**
 * Assigns or unassigns a project. It takes effect with the next request, because each request checks the
 * database.
 */
export function assignProject(
  context: Context,
  caller: OwnerCaller,
  id: string,
  { project_id, assigned }: AssignmentInput,
): Promise<Administrator> {
  return writeAsOwner(context, caller, [project_id, nodeLane], async (tx) => {
    const { name } = await store.getAdministrator(tx.db, id)
    const project = await getProject(tx.db, caller, project_id)
    const change = assigned ? store.assign : store.unassign
    if (await change(tx, id, project.id)) {
      const kind = assigned ? 'administrator.assigned' : 'administrator.unassigned'
      await record(tx, caller, { kind, id, project_id: project.id, details: { name } })
    }
    return store.viewAdministrator(tx.db, id)
  })
}

export function setAdministratorState(
  context: Context,
  caller: OwnerCaller,
  id: string,
  { state }: AdministratorStateInput,
): Promise<AdministratorStateInput> {
  return writeAsOwner(context, caller, nodeLane, async (tx) => {
    const administrator = await store.getAdministrator(tx.db, id)
    if (administrator.state === state) return { state }
    await store.updateState(tx, id, state)
    const kind = state === 'disabled' ? 'administrator.disabled' : 'administrator.enabled'
    await record(tx, caller, { kind, id, details: { name: administrator.name } })
    if (state === 'disabled') {
      await endAllSessions(tx, id)
      await removeLinksOf(tx, id)
    }
    return { state }
  })
}

interface Recorded {
  readonly kind: AuditKindOf<'administrator'>
  readonly id: string
  readonly project_id?: string
  readonly details: Readonly<Record<string, unknown>>
}

const record = (tx: Tx, caller: OwnerCaller, { kind, id, project_id, details }: Recorded): Promise<void> =>
  recordAudit(tx, {
    kind,
    actor: ownerActor(caller),
    project_id: project_id ?? null,
    subject: { type: 'owner_user', id },
    details,
  })
