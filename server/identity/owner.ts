/**
 * Proves that a request comes from a signed-in person.
 *
 * - The cookie is a random token of 256 bits. The database stores its hash.
 * - A request with two cookies of this name is refused. A token that the server did not issue never starts a
 *   session.
 * - A session ends by sign-out, after an hour without use, and after twelve hours at the latest.
 *
 * Contract §10 "Sign-in".
 */

import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { EndpointSpec } from '../../sdk/contract/endpoint.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { type Lanes, nodeLane } from '../database/lanes.ts'
import { prepared } from '../database/prepared.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { OwnerCaller } from './callers.ts'
import type { IdentityServices } from './services.ts'

export const tokenDigest = (token: string): Buffer => hash('sha256', token, 'buffer')

/** The `__Host-` prefix requires Secure. Plain HTTP is possible on loopback only and uses another name. */
export const cookieName = (portalOrigin: string): string =>
  portalOrigin.startsWith('https://') ? '__Host-bridge_owner' : 'bridge_owner_dev'

export function sessionCookie(portalOrigin: string, token: string): string {
  const secure = portalOrigin.startsWith('https://') ? '; Secure' : ''
  return `${cookieName(portalOrigin)}=${token}; Path=/${secure}; HttpOnly; SameSite=Strict`
}

export const clearedCookie = (portalOrigin: string): string => `${sessionCookie(portalOrigin, '')}; Max-Age=0`

function cookieToken(request: FastifyRequest, portalOrigin: string): string | undefined {
  const prefix = `${cookieName(portalOrigin)}=`
  const found = (request.headers.cookie ?? '')
    .split(';')
    .map((each) => each.trim())
    .filter((each) => each.startsWith(prefix))
  return found.length === 1 ? found[0]?.slice(prefix.length) : undefined
}

const findByToken = prepared<{ token_sha256: Buffer }>()((db, p) =>
  db.selectFrom('owner_sessions').select('id').where('token_sha256', '=', p('token_sha256')),
)

const findSession = prepared<{ id: string }>()((db, p) =>
  db
    .selectFrom('owner_sessions')
    .innerJoin('owner_users', 'owner_users.id', 'owner_sessions.user_id')
    .select([
      'owner_sessions.id',
      'owner_sessions.user_id',
      'owner_sessions.token_sha256',
      'owner_sessions.last_used_at',
      'owner_sessions.expires_at',
      'owner_sessions.fresh_until',
      'owner_sessions.ended_at',
      'owner_users.name',
      'owner_users.role',
      'owner_users.state',
    ])
    .where('owner_sessions.id', '=', p('id')),
)

/** A session, and the hash of the token by which a request named it. */
type Shown = Pick<OwnerCaller, 'session_id' | 'token_sha256'>

/**
 * Checks an owner session at an instant of steady time. @throws owner_session_expired, not_permitted,
 * reauth_required
 */
async function admitOwner(db: Db, caller: OwnerCaller, now: Date) {
  const found = await findAlive(db, caller, now)
  requireRights(found, caller.endpoint, now)
  return found
}

/** The instant of steady time after which a session must have been used, or it has ended. */
export const idleFrom = (steadyNow: Date): string =>
  new Date(steadyNow.getTime() - limits.ownerIdleSeconds * 1000).toISOString()

/** @throws owner_session_expired */
async function findAlive(db: Db, shown: Shown, now: Date) {
  const found = await findSession.first(db, { id: shown.session_id })
  const nowIso = now.toISOString()
  const alive =
    found !== undefined &&
    timingSafeEqual(found.token_sha256, shown.token_sha256) &&
    found.ended_at === null &&
    found.state === 'enabled' &&
    found.expires_at > nowIso &&
    found.last_used_at > idleFrom(now)
  if (!alive) throw new ApiError('owner_session_expired')
  return found
}

/** @throws not_permitted, reauth_required */
function requireRights(
  found: { readonly role: OwnerCaller['role']; readonly fresh_until: string },
  endpoint: EndpointSpec,
  now: Date,
): void {
  if (endpoint.ownerOnly && found.role !== 'owner') throw new ApiError('not_permitted')
  if (endpoint.fresh && found.fresh_until <= now.toISOString()) throw new ApiError('reauth_required')
}

/** Sets `request.caller`. @throws owner_session_expired, not_permitted, reauth_required */
export async function proveOwner(
  context: IdentityServices,
  request: FastifyRequest,
  endpoint: EndpointSpec,
): Promise<void> {
  const token = cookieToken(request, context.portalOrigin())
  if (token === undefined) throw new ApiError('owner_session_expired')
  const token_sha256 = tokenDigest(token)
  const found = await context.read(async (db) => {
    const session = await findByToken.first(db, { token_sha256 })
    return findAlive(db, { session_id: session?.id ?? '', token_sha256 }, context.steady.now())
  })
  const caller: OwnerCaller = {
    kind: 'owner',
    user_id: found.user_id,
    name: found.name,
    role: found.role,
    session_id: found.id,
    token_sha256,
    endpoint,
    request_id: request.id,
  }
  // Before the rights are checked, so that the audit names the person who lacks them.
  request.caller = caller
  requireRights(found, endpoint, context.steady.now())
  context.presence.touchPerson(found.user_id, found.role, context.steady.now())
  if (endpoint.method === 'GET' && !isWait(request)) await renew(context, caller, found.last_used_at)
}

/** "A read that waits does not renew the sign-in's idle time." Contract §10. */
function isWait({ query }: FastifyRequest): boolean {
  const { wait_seconds: seconds } = query as { readonly wait_seconds?: unknown }
  return seconds !== undefined && seconds !== '0'
}

/**
 * Renews the session at most once per minute. This is precise enough for an idle limit of an hour and saves a
 * write per read.
 */
async function renew(context: IdentityServices, shown: Shown, lastUsed: string): Promise<void> {
  if (context.steady.now().getTime() - Date.parse(lastUsed) < 60_000) return
  await context.write(nodeLane, (tx) => markUsed(tx, shown))
}

/**
 * Records the use of a sign-in. Returns false if another transaction ended it or replaced its token after this one
 * read it: on PostgreSQL the update waits for that one and looks at the row again.
 */
const markUsed = async (tx: Tx, { session_id, token_sha256 }: Shown): Promise<boolean> => {
  const used = await tx.db
    .updateTable('owner_sessions')
    .set({ last_used_at: tx.steadyIso })
    .where('id', '=', session_id)
    .where('token_sha256', '=', token_sha256)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return used.numUpdatedRows === 1n
}

/** Runs one unit of work for an owner. The session is checked again inside the transaction. */
export async function writeAsOwner<T>(
  context: IdentityServices,
  caller: OwnerCaller,
  lanes: Lanes,
  unit: (tx: Tx) => Promise<T>,
): Promise<T> {
  return context.write(lanes, async (tx) => {
    await admitOwner(tx.db, caller, tx.steadyNow)
    if (!(await markUsed(tx, caller))) throw new ApiError('owner_session_expired')
    return unit(tx)
  })
}

/** Runs a read for an owner on one snapshot, in which the session is checked again. */
export async function readAsOwner<T>(
  context: IdentityServices,
  caller: OwnerCaller,
  unit: (db: Db, now: Date) => Promise<T>,
): Promise<T> {
  return context.read(async (db) => {
    await admitOwner(db, caller, context.steady.now())
    return unit(db, context.clock())
  })
}
