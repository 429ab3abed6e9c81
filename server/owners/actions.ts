/** Sets up the owner and signs people in and out. Contract §10 "Sign-in". */

import { limits } from '../../sdk/contract/limits.ts'
import type {
  OwnerSession,
  OwnerSessionEnded,
  PasswordChangeInput,
  PasswordInput,
  SetupInput,
  SignInInput,
} from '../../sdk/contract/owner/sign-in.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { nodeLane } from '../database/lanes.ts'
import type { OwnerUserRow } from '../database/node-tables.ts'
import { type PageQuery, toPage } from '../database/page.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { OwnerCaller, PublicCaller } from '../identity/callers.ts'
import { mayRecord } from '../identity/failed-sign-ins.ts'
import { readAsOwner, tokenDigest, writeAsOwner } from '../identity/owner.ts'
import type { LimiterName } from '../identity/password.ts'
import type { Surface } from '../identity/throttle.ts'
import * as store from './store.ts'

/** A session and its token, which only the cookie contains. */
export interface SignedIn {
  readonly session: OwnerSession
  readonly token: string
}

export async function setUpOwner(
  context: Context,
  caller: PublicCaller,
  input: SetupInput,
): Promise<SignedIn> {
  if ((await context.read(store.findOwner)) !== undefined) throw new ApiError('setup_done')
  const link = tokenDigest(input.token)
  return counting(context, 'link', caller, undefined, async () => {
    // Checked before the password is hashed, so that only the holder of a link can cause that work. The
    // transaction uses the link up.
    if (!(await context.read((db) => store.isLinkOpen(db, 'setup', link, context.steady.now())))) {
      // Another request may have used the link since the first look.
      const owner = await context.read(store.findOwner)
      throw owner === undefined ? invalidLink() : new ApiError('setup_done')
    }
    const password = await context.passwords.hash(input.password)
    return context.write(nodeLane, async (tx) => {
      if ((await store.findOwner(tx.db)) !== undefined) throw new ApiError('setup_done')
      if ((await store.redeemLink(tx, 'setup', link)) === undefined) throw invalidLink()
      const user = await store.insertOwner(tx, input.name, password)
      await recordAudit(tx, {
        kind: 'owner.set_up',
        actor: { kind: 'owner', id: user.id, name: user.name, request_id: caller.request_id },
        project_id: null,
        subject: { type: 'owner_user', id: user.id },
      })
      return beginSession(context, tx, user, caller)
    })
  })
}

const invalidLink = () =>
  new ApiError('sign_in_failed', {
    message: 'The setup link is unknown, used or expired; make a new one on the host.',
  })

export async function signIn(context: Context, caller: PublicCaller, input: SignInInput): Promise<SignedIn> {
  const surface = 'link_token' in input ? 'link' : 'password'
  const recordFailure = () => recordFailedSignIn(context, caller, input)
  return counting(context, surface, caller, recordFailure, async () => {
    if ('link_token' in input) return signInByLink(context, caller, input.link_token)
    context.throttle.refuseFlood('password', caller.address)
    const attempt = { key: `name ${input.name}`, name: input.name, limiter: 'signing in' } as const
    const checked = await checkPassword(context, attempt, input.password)
    return context.write(nodeLane, async (tx) =>
      beginSession(context, tx, await requireUnchanged(tx, checked), caller),
    )
  })
}

/**
 * Checks the user again when the sign-in is stored, because checking the password takes long. @throws
 * sign_in_failed
 */
async function requireUnchanged(tx: Tx, checked: OwnerUserRow): Promise<OwnerUserRow> {
  const user = await store.findUserById(tx.db, checked.id)
  if (user?.state !== 'enabled' || user.password !== checked.password) throw new ApiError('sign_in_failed')
  return user
}

function signInByLink(context: Context, caller: PublicCaller, token: string): Promise<SignedIn> {
  return context.write(nodeLane, async (tx) => {
    const link = await store.redeemLink(tx, 'sign_in', tokenDigest(token))
    if (link === undefined) throw new ApiError('sign_in_failed')
    const userId = link.user_id
    const user = await (userId === null ? store.findOwner(tx.db) : store.findUserById(tx.db, userId))
    if (user?.state !== 'enabled') throw new ApiError('sign_in_failed')
    return beginSession(context, tx, user, caller)
  })
}

interface Attempt {
  readonly name: string
  /**
   * Key of the delay after wrong passwords. A sign-in and a confirmation use different keys, so attempts of
   * strangers never delay a person who is signed in.
   */
  readonly key: string
  readonly limiter: LimiterName
}

/**
 * Checks a password. An unknown name and a wrong password get the same refusal after the same work. @throws
 * sign_in_failed, rate_limited
 */
async function checkPassword(
  context: Context,
  { name, key, limiter }: Attempt,
  password: string,
): Promise<OwnerUserRow> {
  await context.signInDelays.require(key)
  const user = await context.read((db) => store.findUser(db, name))
  // An account without a password is checked against the dummy, like an unknown name.
  const matches = await context.passwords.matches(password, user?.password || undefined, limiter)
  // Other attempts may have failed since the first look. If their number delays the key, this one does not
  // learn whether its password is right.
  await context.signInDelays.require(key)
  if (user === undefined || !matches || user.state !== 'enabled') {
    await context.signInDelays.failed(key)
    throw new ApiError('sign_in_failed')
  }
  await context.signInDelays.succeeded(key)
  return user
}

/**
 * Counts a failure against the address, whatever the name was. The failure is recorded even if this refuses
 * the request.
 */
async function counting<T>(
  context: Context,
  surface: Surface,
  caller: PublicCaller,
  recordFailure: (() => Promise<void>) | undefined,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'sign_in_failed') {
      await recordFailure?.()
      context.throttle.countFailure(surface, caller.address)
    }
    throw error
  }
}

/** The record contains the name only if a person has it, because a password may have been typed instead of the name. */
async function recordFailedSignIn(context: Context, caller: PublicCaller, input: SignInInput): Promise<void> {
  if (!context.failedSignIns.take(caller.address)) return
  await context.write(nodeLane, async (tx) => {
    if (!(await mayRecord(tx, caller.address))) return
    const user = 'name' in input ? await store.findUser(tx.db, input.name) : undefined
    await recordAudit(tx, {
      kind: 'owner.sign_in_failed',
      actor: { kind: 'anonymous', id: null, name: 'anonymous', request_id: caller.request_id },
      project_id: null,
      subject: { type: 'owner_user', id: user?.id ?? null },
      details: {
        address: caller.address,
        by: 'name' in input ? 'password' : 'link',
        ...(user && { name: user.name }),
      },
    })
  })
}

/** Starts a session. Each sign-in gets a new token; a token that the browser sent is never reused. */
async function beginSession(
  context: Context,
  tx: Tx,
  user: OwnerUserRow,
  caller: PublicCaller,
): Promise<SignedIn> {
  const token = context.random(32).toString('base64url')
  const id = await store.insertSession(tx, {
    user_id: user.id,
    token_sha256: tokenDigest(token),
    user_agent: caller.user_agent.slice(0, 200),
    expires_at: tx.endIn(limits.ownerSessionSeconds),
    fresh_until: tx.endIn(limits.ownerFreshSeconds),
  })
  await store.endOldSessions(tx, user.id)
  await recordAudit(tx, {
    kind: 'owner.signed_in',
    actor: { kind: 'owner', id: user.id, name: user.name, request_id: caller.request_id },
    project_id: null,
    subject: { type: 'owner_session', id },
    details: { address: caller.address },
  })
  return { session: await viewSession(context, tx.db, id), token }
}

export function currentSession(context: Context, caller: OwnerCaller): Promise<OwnerSession> {
  return readAsOwner(context, caller, (db) => viewSession(context, db, caller.session_id))
}

/** Returns one session, as the caller's current one. */
const viewSession = async ({ steady }: Context, db: Db, id: string): Promise<OwnerSession> =>
  store.toOwnerSession(await store.getSession(db, id), id, steady)

export function listSessions(context: Context, caller: OwnerCaller, query: PageQuery) {
  const { steady } = context
  return readAsOwner(context, caller, async (db) => {
    const { after, limit = limits.pageDefault } = query
    const rows = await store.listSessions(db, caller.user_id, { after, limit, now: steady.now() })
    const { items: sessions, ...page } = toPage(rows, limit, after, (row) =>
      store.toOwnerSession(row, caller.session_id, steady),
    )
    return { sessions, ...page }
  })
}

/** Ends a session of the caller. Ending the current one is signing out. */
export function endSession(context: Context, caller: OwnerCaller, id: string): Promise<OwnerSessionEnded> {
  return writeAsOwner(context, caller, nodeLane, async (tx) => {
    if (!(await store.endSession(tx, caller.user_id, id))) throw new ApiError('not_found')
    await recordAudit(tx, {
      kind: 'owner.signed_out',
      actor: ownerActor(caller),
      project_id: null,
      subject: { type: 'owner_session', id },
    })
    return { id, ended_at: tx.nowIso }
  })
}

/**
 * Confirms the password and replaces the session's token, so that a stolen copy of the old token is refused.
 */
export async function confirm(
  context: Context,
  caller: OwnerCaller,
  input: PasswordInput,
): Promise<SignedIn> {
  const attempt = { key: `session ${caller.session_id}`, name: caller.name, limiter: 'signed in' } as const
  await checkPassword(context, attempt, input.password)
  const token = context.random(32).toString('base64url')
  return writeAsOwner(context, caller, nodeLane, async (tx) => {
    const fresh_until = tx.endIn(limits.ownerFreshSeconds)
    await store.renewSession(tx, caller.session_id, { token_sha256: tokenDigest(token), fresh_until })
    await recordAudit(tx, {
      kind: 'owner.confirmed',
      actor: ownerActor(caller),
      project_id: null,
      subject: { type: 'owner_session', id: caller.session_id },
    })
    return { session: await viewSession(context, tx.db, caller.session_id), token }
  })
}

/** Changes the password. "Password change or disabling ends all." */
export async function changePassword(
  context: Context,
  caller: OwnerCaller,
  input: PasswordChangeInput,
): Promise<OwnerSessionEnded> {
  const password = await context.passwords.hash(input.new_password, 'signed in')
  return writeAsOwner(context, caller, nodeLane, async (tx) => {
    await store.updatePassword(tx, caller.user_id, password)
    await store.endAllSessions(tx, caller.user_id)
    await recordAudit(tx, {
      kind: 'owner.password_changed',
      actor: ownerActor(caller),
      project_id: null,
      subject: { type: 'owner_user', id: caller.user_id },
    })
    return { id: caller.session_id, ended_at: tx.nowIso }
  })
}
