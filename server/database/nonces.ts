/**
 * Nonces that were used, so that no proof is accepted twice: not after a kill, not by a second process.
 *
 * - Accepted means inserted: one statement that inserts nothing when the nonce is there, or when the proof is dated at
 *   or before the floor, up to which the store cannot tell.
 * - Removing a nonce raises the floor to its date in the same transaction, so what is forgotten is refused for ever,
 *   also when the clock goes back.
 * - Only what lies behind the proofs' window is removed, and that line moves at most twice as fast as monotonic time:
 *   a clock that jumps ahead locks no honest client out, and a machine that slept catches up.
 * - A store without its floor was lost or restored: everything dated up to 30 s from now is refused.
 *
 * Contract §3.
 */
import { hash } from 'node:crypto'
import type Database from 'better-sqlite3'
import { sql } from 'kysely'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { sql as tablesSql } from './migrations/018_nonces.ts'
import { openNonceCounts, recountEveryMs } from './nonce-counts.ts'
import type { Tx } from './tx.ts'

/** What names a proof that holds. */
export interface Nonce {
  readonly credentialId: string
  /** The header's text. Only a hash of it is stored. */
  readonly nonce: string
  /** Unix seconds of the proof. */
  readonly signedAt: number
}

export interface Nonces {
  /** Unix seconds: proofs dated at or before it are refused. */
  floor(): number
  /** Inside the writer's transaction, outside any savepoint. Undefined: accepted. */
  spend(nonce: Nonce): ApiError | undefined
  /** Removes one batch of what is behind the window; to be called again while `more`. */
  purge(tx: Tx): Promise<{ removed: number; more: boolean }>
}

export interface NoncesOptions {
  readonly database: Database.Database
  readonly clock: () => Date
  /** Milliseconds that no clock setting moves. */
  readonly monotonicMs: () => number
  /** Live nonces per credential. */
  readonly perCredential?: number
}

const purgeBatch = 500
const windowSeconds = limits.proofBackSeconds + limits.proofAheadSeconds

const seconds = (instant: Date): number => Math.floor(instant.getTime() / 1000)

const digest = (nonce: string): Buffer => hash('sha256', nonce, 'buffer').subarray(0, 16)

/** Needs the migrated store; the database is the writer's. */
export function openNonces(options: NoncesOptions): Nonces {
  const { database, clock, monotonicMs, perCredential = limits.noncesPerCredential } = options
  let floor = prepareStore(database, clock())
  const insert = database.prepare<[string, Buffer, number, number]>(
    `INSERT OR IGNORE INTO nonces (credential_id, nonce, signed_at)
      SELECT ?, ?, ? WHERE ? > (SELECT floor FROM replay_floor)`,
  )
  const counts = openNonceCounts(database, perCredential, monotonicMs)
  const lineFor = purgeLine(clock(), monotonicMs)

  return {
    floor: () => floor,
    spend({ credentialId, nonce, signedAt }) {
      if (counts.isFull(credentialId)) return new ApiError('rate_limited', { retryAfterMs: recountEveryMs })
      if (insert.run(credentialId, digest(nonce), signedAt, signedAt).changes === 0)
        return new ApiError('request_replayed')
      counts.add(credentialId)
      return undefined
    },
    async purge(tx) {
      const removed = await removeThrough(tx, lineFor(tx.now))
      const raised = removed.reduce((highest, { signed_at }) => Math.max(highest, signed_at), floor)
      await raiseFloor(tx, raised)
      tx.afterCommit(() => {
        // Another purge may have been committed meanwhile, and read the floor from before this one.
        floor = Math.max(floor, raised)
        for (const { credential_id } of removed) counts.remove(credential_id)
      })
      return { removed: removed.length, more: removed.length > 0 }
    },
  }
}

/**
 * For a store that was restored, before it serves: refuses what may have been used since the copy was made. A copy
 * that leaves out the row of `replay_floor` gets the same when it is opened.
 */
export function refuseEarlierProofs(database: Database.Database, now: Date): void {
  database
    .prepare(
      `INSERT INTO replay_floor (one, floor) VALUES (1, ?)
        ON CONFLICT (one) DO UPDATE SET floor = excluded.floor WHERE excluded.floor > replay_floor.floor`,
    )
    .run(seconds(now) + limits.proofAheadSeconds)
}

/** "A nonce store that is missing or restored refuses proofs dated up to 30 s from now." Returns the floor. */
function prepareStore(database: Database.Database, now: Date): number {
  const prepare = database.transaction(() => {
    if (!hasTables(database)) {
      database.exec(`DROP TABLE IF EXISTS nonces; DROP TABLE IF EXISTS replay_floor; ${tablesSql}`)
    }
    const floor = database.prepare<[], number>('SELECT floor FROM replay_floor').pluck()
    const stored = floor.get()
    if (stored !== undefined) return stored
    // Where no credential was ever issued, no proof can have been accepted: a new server serves at once.
    if (hasCredentials(database)) refuseEarlierProofs(database, now)
    else database.exec('INSERT INTO replay_floor (one, floor) VALUES (1, 0)')
    return floor.get() ?? 0
  })
  return prepare.immediate()
}

function hasTables(database: Database.Database): boolean {
  const tables = database
    .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name IN ('nonces', 'replay_floor')")
    .all()
  return tables.length === 2
}

const hasCredentials = (database: Database.Database): boolean =>
  database.prepare('SELECT 1 FROM credentials LIMIT 1').get() !== undefined

/** Unix seconds up to which nonces may go now. */
function purgeLine(opened: Date, monotonicMs: () => number): (now: Date) => number {
  let line = seconds(opened) - windowSeconds
  let movedAtMs = monotonicMs()
  return (now) => {
    const elapsedMs = monotonicMs() - movedAtMs
    movedAtMs += elapsedMs
    line = Math.min(seconds(now) - windowSeconds, line + (2 * elapsedMs) / 1000)
    return line
  }
}

/**
 * What is behind the line of those that came first. A proof may be dated half a minute ahead: it then keeps those that
 * came after it for as long.
 */
const removeThrough = (tx: Tx, line: number) =>
  tx.db
    .deleteFrom('nonces')
    .where(
      sql<boolean>`rowid in (
        select rowid from (select rowid, signed_at from nonces order by rowid limit ${purgeBatch}) where signed_at <= ${line})`,
    )
    .returning(['credential_id', 'signed_at'])
    .execute()

async function raiseFloor(tx: Tx, floor: number): Promise<void> {
  await tx.db.updateTable('replay_floor').set({ floor }).where('floor', '<', floor).execute()
}
