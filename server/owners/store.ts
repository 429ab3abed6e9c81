import { limits } from '../../sdk/contract/limits.ts'
import type { OwnerSession } from '../../sdk/contract/owner/sign-in.ts'
import type { OwnerLinkRow, OwnerSessionRow, OwnerUserRow } from '../database/node-tables.ts'
import { beforeAll } from '../database/page.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { idleFrom } from '../identity/owner.ts'

export type SessionView = OwnerSessionRow & Pick<OwnerUserRow, 'name' | 'role'>

export const findOwner = (db: Db): Promise<OwnerUserRow | undefined> =>
  db.selectFrom('owner_users').selectAll().where('role', '=', 'owner').executeTakeFirst()

export const findUser = (db: Db, name: string): Promise<OwnerUserRow | undefined> =>
  db.selectFrom('owner_users').selectAll().where('name', '=', name).executeTakeFirst()

export const findUserById = (db: Db, id: string): Promise<OwnerUserRow | undefined> =>
  db.selectFrom('owner_users').selectAll().where('id', '=', id).executeTakeFirst()

export async function insertOwner(tx: Tx, name: string, password: string): Promise<OwnerUserRow> {
  return tx.db
    .insertInto('owner_users')
    .values({
      id: tx.id(),
      name,
      role: 'owner',
      password,
      state: 'enabled',
      created_at: tx.nowIso,
      updated_at: tx.nowIso,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function updatePassword(tx: Tx, userId: string, password: string): Promise<void> {
  await tx.db
    .updateTable('owner_users')
    .set({ password, updated_at: tx.nowIso })
    .where('id', '=', userId)
    .execute()
}

/** Replaces the links of this kind for the same person. A null `user_id` means the owner. */
export async function replaceLink(
  tx: Tx,
  link: Pick<OwnerLinkRow, 'token_sha256' | 'kind' | 'user_id' | 'expires_at'>,
): Promise<void> {
  await tx.db
    .deleteFrom('owner_links')
    .where('kind', '=', link.kind)
    .where('user_id', 'is', link.user_id)
    .execute()
  await tx.db
    .insertInto('owner_links')
    .values({ ...link, created_at: tx.nowIso, used_at: null })
    .execute()
}

/** Whether a link could be used now. `now` is in steady time. */
export async function isLinkOpen(
  db: Db,
  kind: OwnerLinkRow['kind'],
  tokenSha256: Buffer,
  now: Date,
): Promise<boolean> {
  const link = await db
    .selectFrom('owner_links')
    .select('kind')
    .where('token_sha256', '=', tokenSha256)
    .where('kind', '=', kind)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirst()
  return link !== undefined
}

export async function removeLinksOf(tx: Tx, userId: string): Promise<void> {
  await tx.db.deleteFrom('owner_links').where('user_id', '=', userId).execute()
}

/** Uses up a link and returns its user. Undefined if the link is unknown, used or expired. */
export async function redeemLink(
  tx: Tx,
  kind: OwnerLinkRow['kind'],
  tokenSha256: Buffer,
): Promise<Pick<OwnerLinkRow, 'user_id'> | undefined> {
  return tx.db
    .updateTable('owner_links')
    .set({ used_at: tx.nowIso })
    .where('token_sha256', '=', tokenSha256)
    .where('kind', '=', kind)
    .where('used_at', 'is', null)
    .where('expires_at', '>', tx.steadyIso)
    .returning('user_id')
    .executeTakeFirst()
}

export async function insertSession(
  tx: Tx,
  session: Pick<OwnerSessionRow, 'user_id' | 'token_sha256' | 'user_agent' | 'expires_at' | 'fresh_until'>,
): Promise<string> {
  const id = tx.id()
  await tx.db
    .insertInto('owner_sessions')
    .values({ ...session, id, created_at: tx.nowIso, last_used_at: tx.steadyIso, ended_at: null })
    .execute()
  return id
}

/** Keeps the newest ten live sessions of a person and ends the others. */
export async function endOldSessions(tx: Tx, userId: string): Promise<void> {
  const kept = tx.db
    .selectFrom('owner_sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', tx.steadyIso)
    .where('last_used_at', '>', idleFrom(tx.steadyNow))
    .orderBy('id', 'desc')
    .limit(limits.ownerSessionsPerUser)
  await tx.db
    .updateTable('owner_sessions')
    .set({ ended_at: tx.nowIso })
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('id', 'not in', kept)
    .execute()
}

export async function endSession(tx: Tx, userId: string, id: string): Promise<boolean> {
  const ended = await tx.db
    .updateTable('owner_sessions')
    .set({ ended_at: tx.nowIso })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return ended.numUpdatedRows === 1n
}

export async function endAllSessions(tx: Tx, userId: string): Promise<void> {
  await tx.db
    .updateTable('owner_sessions')
    .set({ ended_at: tx.nowIso })
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .execute()
}

/** Sets the new token and confirmation time of a session. */
export async function renewSession(
  tx: Tx,
  id: string,
  renewed: Pick<OwnerSessionRow, 'token_sha256' | 'fresh_until'>,
): Promise<void> {
  await tx.db.updateTable('owner_sessions').set(renewed).where('id', '=', id).execute()
}

const views = (db: Db) =>
  db
    .selectFrom('owner_sessions')
    .innerJoin('owner_users', 'owner_users.id', 'owner_sessions.user_id')
    .selectAll('owner_sessions')
    .select(['owner_users.name', 'owner_users.role'])

export const getSession = (db: Db, id: string): Promise<SessionView> =>
  views(db).where('owner_sessions.id', '=', id).executeTakeFirstOrThrow()

export async function listSessions(
  db: Db,
  userId: string,
  page: { readonly after: string | undefined; readonly limit: number; readonly now: Date },
): Promise<SessionView[]> {
  return views(db)
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', page.now.toISOString())
    .where('last_used_at', '>', idleFrom(page.now))
    .where('owner_sessions.id', '>', page.after ?? beforeAll)
    .orderBy('owner_sessions.id')
    .limit(page.limit + 1)
    .execute()
}

export const toOwnerSession = (
  row: SessionView,
  currentId: string,
  { wall }: Pick<SteadyClock, 'wall'>,
): OwnerSession => ({
  id: row.id,
  user: { id: row.user_id, name: row.name, role: row.role },
  created_at: row.created_at,
  last_used_at: wall(row.last_used_at),
  expires_at: wall(row.expires_at),
  fresh_until: wall(row.fresh_until),
  user_agent: row.user_agent,
  current: row.id === currentId,
})

/**
 * Whether no new setup link is needed: there is an owner, or an unused link is valid. `now` is in steady
 * time.
 */
export async function hasOpenSetup(db: Db, now: Date): Promise<boolean> {
  if ((await findOwner(db)) !== undefined) return true
  const link = await db
    .selectFrom('owner_links')
    .select('kind')
    .where('kind', '=', 'setup')
    .where('used_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirst()
  return link !== undefined
}
