/**
 * One-time links, made on the host: write access to the data folder is the root of trust.
 *
 * The link carries the token after `#`, which browsers never send to a server. Only the hash of the token is
 * stored.
 *
 * Contract §10 "Sign-in".
 */

import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { recordAudit, systemActor } from '../audit/store.ts'
import { nodeLane } from '../database/lanes.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import type { Tx } from '../database/tx.ts'
import type { Writer } from '../database/writer.ts'
import { tokenDigest } from '../identity/owner.ts'
import { findOwner, hasOpenSetup, replaceLink } from './store.ts'

const lifetimes = { setup: limits.setupLinkSeconds, sign_in: limits.ownerLinkSeconds } as const

interface Maker {
  readonly write: Writer['write']
  readonly steady: SteadyClock
  readonly random: (bytes: number) => Buffer
}

/**
 * Makes a new token, which replaces the last one of this kind. @throws setup_done; not_found if there is no
 * owner yet
 */
export function makeLinkToken(maker: Maker, kind: 'setup' | 'sign_in'): Promise<string> {
  return maker.write(nodeLane, async (tx) => {
    const owner = await findOwner(tx.db)
    if (kind === 'setup' && owner !== undefined) throw new ApiError('setup_done')
    if (kind === 'sign_in' && owner === undefined) {
      throw new ApiError('not_found', { message: 'There is no owner yet; make a setup link instead.' })
    }
    return replaceToken(tx, maker, kind)
  })
}

/**
 * Makes a setup token, unless there is an owner or another one is still valid. If several nodes start
 * at the same time, one makes a token.
 */
export const makeFirstToken = (maker: Maker): Promise<string | undefined> =>
  maker.write(nodeLane, async (tx) =>
    (await hasOpenSetup(tx.db, tx.steadyNow)) ? undefined : replaceToken(tx, maker, 'setup'),
  )

async function replaceToken(tx: Tx, { random, steady }: Maker, kind: 'setup' | 'sign_in'): Promise<string> {
  const token = random(32).toString('base64url')
  const expires_at = tx.endIn(lifetimes[kind])
  await replaceLink(tx, { token_sha256: tokenDigest(token), kind, user_id: null, expires_at })
  await recordAudit(tx, {
    kind: kind === 'setup' ? 'owner.setup_link_made' : 'owner.sign_in_link_made',
    actor: systemActor,
    project_id: null,
    subject: { type: 'owner_link', id: null },
    details: { expires_at: steady.wall(expires_at) },
  })
  return token
}

export const linkUrl = (portalOrigin: string, kind: 'setup' | 'sign_in', token: string): string =>
  `${portalOrigin}/${kind === 'setup' ? 'setup' : 'sign-in'}#${token}`
