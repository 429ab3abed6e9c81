/** Used nonces in PostgreSQL. One statement spends those of a whole group, and counts them now and then. */
import { sql } from 'kysely'
import { limits } from '../../../sdk/contract/limits.ts'
import { ApiError } from '../../api-error.ts'
import { digestOf, floorAfterLoss, type Nonces, purgeLine } from '../nonces.ts'
import type { Request } from '../request.ts'
import type { Tx } from '../tx.ts'
import type { PostgresConnection } from './connection.ts'
import { type NonceCounts, recountEveryMs } from './nonce-counts.ts'

const spend = (condition: string) => `INSERT INTO nonces (credential_id, nonce, signed_at)
  SELECT n.credential_id, n.nonce, n.signed_at
    FROM unnest($1::text[], $2::bytea[], $3::bigint[]) AS n (credential_id, nonce, signed_at)
    WHERE n.signed_at > (SELECT floor FROM replay_floor)${condition}
  ON CONFLICT DO NOTHING RETURNING credential_id, nonce`

/** Counts the rows of the credentials `$4` before, and spends no nonce of one that has too many. */
const countAndSpend = `WITH counted AS MATERIALIZED (
    SELECT c.id, (SELECT count(*) FROM nonces WHERE credential_id = c.id) AS rows FROM unnest($4::text[]) AS c (id)
  ), spent AS (
    ${spend(` AND n.credential_id NOT IN (SELECT id FROM counted WHERE rows >= ${limits.noncesPerCredential})`)}
  )
  SELECT credential_id, nonce, NULL::bigint AS rows FROM spent
  UNION ALL SELECT id, NULL, rows FROM counted`

interface Spent {
  readonly credential_id: string
  readonly nonce: Buffer | null
  /** Rows of a credential that was counted, instead of a nonce. */
  readonly rows?: number | null
}

export interface Spending {
  readonly counts: NonceCounts
  /** The replay floor, in Unix seconds. */
  readonly floor: number
  readonly clock: () => Date
}

/**
 * Spends the nonces of a group in its transaction, outside any savepoint. Returns the refusal of each request
 * whose nonce was used before, or whose credential has too many, at its index.
 */
export async function spendNonces(
  connection: PostgresConnection,
  requests: readonly Pick<Request, 'nonce'>[],
  { counts, floor, clock }: Spending,
): Promise<(ApiError | undefined)[]> {
  const digests = requests.map(({ nonce }) => nonce && digestOf(nonce.nonce))
  const named = new Set(requests.flatMap(({ nonce }) => nonce?.credentialId ?? []))
  const full = new Set([...named].filter((id) => counts.isFull(id)))
  const given = requests.flatMap(({ nonce }, index) => {
    const digest = digests[index]
    return nonce === undefined || digest === undefined || full.has(nonce.credentialId)
      ? []
      : [{ ...nonce, digest }]
  })
  const due = [...named].filter((id) => !full.has(id) && counts.isDue(id))
  const rows = given.length === 0 ? [] : await store(connection, given, due)
  for (const { credential_id: id, rows: counted } of rows)
    if (typeof counted === 'number' && counts.note(id, counted)) full.add(id)
  const spent = new Set(
    rows.flatMap(({ credential_id, nonce }) => (nonce ? keyOf(credential_id, nonce) : [])),
  )
  return requests.map(({ nonce }, index) => {
    const digest = digests[index]
    if (nonce === undefined || digest === undefined) return undefined
    if (full.has(nonce.credentialId)) return new ApiError('rate_limited', { retryAfterMs: recountEveryMs })
    // The first request of the group that carries a nonce spends it.
    if (!spent.delete(keyOf(nonce.credentialId, digest)))
      // A failover may have raised the floor since the proof was checked.
      return nonce.signedAt > floor ? new ApiError('request_replayed') : cannotTell(floor, clock())
    counts.add(nonce.credentialId)
    return undefined
  })
}

const cannotTell = (floor: number, now: Date): ApiError =>
  new ApiError('unavailable', {
    message: 'The server cannot yet tell new requests from replays. Retry after the delay.',
    retryAfterMs: Math.max(1000, (floor + 1) * 1000 - now.getTime()),
  })

async function store(
  connection: PostgresConnection,
  given: readonly { readonly credentialId: string; readonly digest: Buffer; readonly signedAt: number }[],
  due: readonly string[],
): Promise<readonly Spent[]> {
  const values = [
    given.map(({ credentialId }) => credentialId),
    given.map(({ digest }) => digest),
    given.map(({ signedAt }) => signedAt),
  ]
  const { rows } = await connection.query<Spent>(
    due.length === 0
      ? { name: 'nonces', text: spend(''), values }
      : { name: 'nonces_counted', text: countAndSpend, values: [...values, due] },
  )
  return rows
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
/**
 * A nonce is kept for this much longer than the window of its proof, which is the time that a body may take. A
 * statement may read the floor before another node commits its purge. The floor then does not refuse the proof of
 * a removed nonce, so that proof must be too old by itself.
 */
const keptLongerSeconds = 30

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
      const removed = await removeThrough(tx, Math.floor(lineFor(tx.now)) - keptLongerSeconds)
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
