/**
 * Used nonces. They prevent that a proof is accepted twice, also after a kill or by a second process.
 *
 * - One INSERT accepts a proof. It inserts nothing if the nonce is stored, or if the proof is dated at or
 *   before the replay floor.
 * - The transaction that removes a nonce raises the floor to its date. So the node still refuses the proofs
 *   of removed nonces, even if the clock goes back.
 * - A purge removes the nonces dated before the purge line, which follows the window of valid proofs. The
 *   line moves at most twice as fast as monotonic time. So a clock that jumps ahead does not lock out honest
 *   clients, and the line still catches up after the machine slept.
 * - If the floor is missing, the nonces were lost or restored. The node then refuses proofs dated up to 30 s
 *   from now.
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

/** Identifies a valid proof. */
export interface Nonce {
  readonly credentialId: string
  /** Text of the header. The node stores only a hash of it. */
  readonly nonce: string
  /** Unix seconds of the proof. */
  readonly signedAt: number
}

export interface Nonces {
  /** Returns the floor in Unix seconds. The node refuses proofs dated at or before it. */
  floor(): number
  /**
   * Returns the refusal, or undefined if the nonce was accepted. Must run in the writer's transaction,
   * outside any savepoint.
   */
  spend(nonce: Nonce): ApiError | undefined
  /** Removes one batch of nonces dated before the purge line. Must be called again while `more` is true. */
  purge(tx: Tx): Promise<{ removed: number; more: boolean }>
}

export interface NoncesOptions {
  readonly database: Database.Database
  readonly clock: () => Date
  /** Milliseconds of a clock that is never set. */
  readonly monotonicMs: () => number
  /** Most stored nonces of one credential. */
  readonly perCredential?: number
}

const purgeBatch = 500
const windowSeconds = limits.proofBackSeconds + limits.proofAheadSeconds

const seconds = (instant: Date): number => Math.floor(instant.getTime() / 1000)

const digest = (nonce: string): Buffer => hash('sha256', nonce, 'buffer').subarray(0, 16)

/** `database` must be migrated and is the writer's connection. */
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
        // Another purge may have committed since, with a floor that it read before this one.
        floor = Math.max(floor, raised)
        for (const { credential_id } of removed) counts.remove(credential_id)
      })
      return { removed: removed.length, more: removed.length > 0 }
    },
  }
}

/**
 * Raises the floor of a restored database, so that it refuses proofs that were used after the backup. If a
 * copy has no row in `replay_floor`, opening it does the same.
 */
export function refuseEarlierProofs(database: Database.Database, now: Date): void {
  database
    .prepare(
      `INSERT INTO replay_floor (one, floor) VALUES (1, ?)
        ON CONFLICT (one) DO UPDATE SET floor = excluded.floor WHERE excluded.floor > replay_floor.floor`,
    )
    .run(seconds(now) + limits.proofAheadSeconds)
}

/** Makes missing tables and a missing floor. Returns the floor. */
function prepareStore(database: Database.Database, now: Date): number {
  const prepare = database.transaction(() => {
    if (!hasTables(database)) {
      database.exec(`DROP TABLE IF EXISTS nonces; DROP TABLE IF EXISTS replay_floor; ${tablesSql}`)
    }
    const floor = database.prepare<[], number>('SELECT floor FROM replay_floor').pluck()
    const stored = floor.get()
    if (stored !== undefined) return stored
    // If the node never issued a credential, it accepted no proof. So a new server serves immediately.
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

/** Returns a function that gives the purge line: nonces dated up to these Unix seconds may be removed. */
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
 * Removes the nonces dated up to the line among the first 500 that arrived. A proof may be dated 30 s ahead,
 * so a batch may keep some of its nonces up to 30 s longer.
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
