/** Used nonces in PostgreSQL. One statement spends those of a whole group. */
import { sql } from 'kysely'
import { ApiError } from '../../api-error.ts'
import { digestOf, floorAfterLoss, type Nonces, purgeLine } from '../nonces.ts'
import type { Request } from '../request.ts'
import type { Tx } from '../tx.ts'
import type { PostgresConnection } from './connection.ts'

const spend = `INSERT INTO nonces (credential_id, nonce, signed_at)
  SELECT n.credential_id, n.nonce, n.signed_at
    FROM unnest($1::text[], $2::bytea[], $3::bigint[]) AS n (credential_id, nonce, signed_at)
    WHERE n.signed_at > (SELECT floor FROM replay_floor)
  ON CONFLICT DO NOTHING RETURNING credential_id, nonce`

/**
 * Spends the nonces of a group in its transaction, outside any savepoint. Returns the refusal of each request
 * whose nonce was used before, at its index.
 */
export async function spendNonces(
  connection: PostgresConnection,
  requests: readonly Pick<Request, 'nonce'>[],
): Promise<(ApiError | undefined)[]> {
  const digests = requests.map(({ nonce }) => nonce && digestOf(nonce.nonce))
  const given = requests.flatMap(({ nonce }, index) => {
    const digest = digests[index]
    return nonce === undefined || digest === undefined ? [] : [{ ...nonce, digest }]
  })
  if (given.length === 0) return []
  const { rows } = await connection.query<{ credential_id: string; nonce: Buffer }>({
    name: 'nonces',
    text: spend,
    values: [
      given.map(({ credentialId }) => credentialId),
      given.map(({ digest }) => digest),
      given.map(({ signedAt }) => signedAt),
    ],
  })
  const spent = new Set(rows.map((row) => keyOf(row.credential_id, row.nonce)))
  return requests.map(({ nonce }, index) => {
    const digest = digests[index]
    if (nonce === undefined || digest === undefined) return undefined
    // The first request of the group that carries a nonce spends it.
    return spent.delete(keyOf(nonce.credentialId, digest)) ? undefined : new ApiError('request_replayed')
  })
}

const keyOf = (credentialId: string, digest: Buffer): string => `${credentialId} ${digest.toString('hex')}`

export interface NoncesOptions {
  readonly connection: PostgresConnection
  readonly clock: () => Date
  /** Milliseconds of a clock that is never set. */
  readonly monotonicMs: () => number
  /** The floor to which a failover has raised that of the database. */
  readonly raised: () => number
}

const purgeBatch = 500

export async function openNonces({
  connection,
  clock,
  monotonicMs,
  raised: failover,
}: NoncesOptions): Promise<Nonces> {
  let floor = await prepareFloor(connection, clock())
  const lineFor = purgeLine(clock(), monotonicMs)
  return {
    floor: () => Math.max(floor, failover()),
    async purge(tx) {
      const removed = await removeThrough(tx, Math.floor(lineFor(tx.now)))
      const raised = removed.reduce((highest, { signed_at }) => Math.max(highest, signed_at), floor)
      await tx.db.updateTable('replay_floor').set({ floor: raised }).where('floor', '<', raised).execute()
      tx.afterCommit(() => {
        // Another purge may have committed since, with a floor that it read before this one.
        floor = Math.max(floor, raised)
      })
      return { removed: removed.length, more: removed.length === purgeBatch }
    },
  }
}

/** Makes a missing floor. Returns the floor. */
async function prepareFloor(connection: PostgresConnection, now: Date): Promise<number> {
  const { rows } = await connection.query<{ floor: number }>({
    text: `WITH made AS (
        INSERT INTO replay_floor (one, floor)
        SELECT 1, CASE WHEN EXISTS (SELECT 1 FROM credentials) THEN $1::bigint ELSE 0 END
        ON CONFLICT DO NOTHING RETURNING floor
      )
      SELECT floor FROM made UNION ALL SELECT floor FROM replay_floor LIMIT 1`,
    values: [floorAfterLoss(now)],
  })
  return rows[0]?.floor ?? 0
}

const removeThrough = (tx: Tx, line: number) =>
  tx.db
    .deleteFrom('nonces')
    .where(
      sql<boolean>`ctid in (
        select ctid from nonces where signed_at <= ${line} order by signed_at limit ${purgeBatch})`,
    )
    .returning(['credential_id', 'signed_at'])
    .execute()
