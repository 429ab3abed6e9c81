/** Used nonces in SQLite. */
import type Database from 'better-sqlite3'
import { sql } from 'kysely'
import { limits } from '../../../sdk/contract/limits.ts'
import { ApiError } from '../../api-error.ts'
import { sql as tablesSql } from '../migrations/018_nonces.ts'
import { digestOf, floorAfterLoss, type Nonce, type Nonces, purgeLine } from '../nonces.ts'
import type { Tx } from '../tx.ts'
import { openNonceCounts, recountEveryMs } from './nonce-counts.ts'

export interface StoredNonces extends Nonces {
  /**
   * Returns the refusal, or undefined if the nonce was accepted. Must run in the writer's transaction,
   * outside any savepoint.
   */
  spend(nonce: Nonce): ApiError | undefined
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
/** `database` must be migrated and is the writer's connection. */
export function openNonces(options: NoncesOptions): StoredNonces {
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
      if (insert.run(credentialId, digestOf(nonce), signedAt, signedAt).changes === 0)
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
    .run(floorAfterLoss(now))
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
