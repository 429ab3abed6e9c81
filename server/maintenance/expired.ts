/**
 * Deletes rows whose lifetime has passed.
 *
 * Ended enrolments are kept for a month, so that the owner can read their state and a second use of a code is
 * not mistaken for an unknown code. An expired sign-in is kept for a day. The others are deleted immediately,
 * because expired and unknown ones are refused alike.
 *
 * Contract §2, §4, §5, §10.
 */
import { sql } from 'kysely'
import { limits } from '../../sdk/contract/limits.ts'
import { arrival, bytesOf } from '../database/sql.ts'
import type { Tables } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { Job, RunBatch } from './job.ts'

const dayMs = 86_400_000

export const before = (now: Date, days: number): string =>
  new Date(now.getTime() - days * dayMs).toISOString()

type Table = keyof Tables & ('enrollments' | 'challenges' | 'takeovers' | 'owner_links' | 'owner_sessions')

/** Job that deletes rows which expired more than `keptDays` days ago, oldest first. */
const removing = (name: string, table: Table, key: string, keptDays: number): Job => ({
  name,
  begin:
    (): RunBatch =>
    async (tx, { rows }) => {
      const removed = await sql`
        delete from ${sql.table(table)} where ${sql.ref(key)} in (
          select ${sql.ref(key)} from ${sql.table(table)}
          where expires_at <= ${before(tx.steadyNow, keptDays)} order by expires_at limit ${rows})`.execute(
        tx.db,
      )
      const done = Number(removed.numAffectedRows ?? 0n)
      return { done, more: done === rows }
    },
})

export const expired: readonly Job[] = [
  removing('enrolments removed', 'enrollments', 'id', limits.enrollmentKeptDays),
  removing('challenges removed', 'challenges', 'challenge_sha256', 0),
  removing('takeover grants removed', 'takeovers', 'agent_id', 0),
  removing('sign-in links removed', 'owner_links', 'token_sha256', 0),
  removing('sign-ins removed', 'owner_sessions', 'id', 1),
]

/** Deletes old stored answers. These may be large, so a batch is limited by bytes too. */
export const idempotencyRetention: Job = {
  name: 'stored answers removed',
  begin:
    (): RunBatch =>
    async (tx, { rows, bytes }) => {
      const cutoff = before(tx.steadyNow, limits.idempotencyDays)
      const old = await oldAnswers(tx, cutoff, rows)
      const deletable = within(old, bytes)
      if (deletable.length === 0) return { done: 0, more: false }
      const keys = deletable.map(({ key }) => key)
      await tx.db.deleteFrom('idempotency').where(arrival, 'in', keys).execute()
      return { done: deletable.length, more: deletable.length < old.length || old.length === rows }
    },
}

interface Sized {
  readonly key: number
  readonly bytes: number
}

/** Reads the oldest answers, in the order in which they were stored, up to the first one that must be kept. */
async function oldAnswers(tx: Tx, cutoff: string, rows: number): Promise<Sized[]> {
  const found = await tx.db
    .selectFrom('idempotency')
    .select([arrival.as('key'), bytesOf('answer').as('bytes'), 'created_at'])
    .orderBy(arrival)
    .limit(rows)
    .execute()
  const end = found.findIndex(({ created_at }) => created_at >= cutoff)
  return found.slice(0, end < 0 ? found.length : end)
}

/** The first rows that fit in `bytes`; at least one. */
export function within<T extends { readonly bytes: number }>(all: readonly T[], bytes: number): T[] {
  let sum = 0
  const end = all.findIndex((each, index) => {
    sum += each.bytes
    return index > 0 && sum > bytes
  })
  return all.slice(0, end < 0 ? all.length : end)
}
