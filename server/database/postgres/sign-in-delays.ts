/**
 * Delays after wrong passwords, for all nodes of the database, by its clock. The table holds a hash of each key,
 * because a person may have typed a password instead of a name.
 */
import { hash } from 'node:crypto'
import { ApiError } from '../../api-error.ts'
import { retryAfterMs } from '../../retry-after.ts'
import { freeAttempts, longestDelaySeconds, type SignInDelays, tooManyPasswords } from '../sign-in-delays.ts'
import { isTrouble, type Statement } from './connection.ts'
import type { Link } from './link.ts'

/** Doublings until the longest delay. PostgreSQL refuses a power of two that is too large, so it takes no more. */
const doublings = Math.ceil(Math.log2(longestDelaySeconds))
const delay = (failures: string) =>
  `CASE WHEN ${failures} <= ${freeAttempts} THEN interval '0'
    ELSE least(${longestDelaySeconds}, power(2, least(${doublings}, ${failures} - ${freeAttempts + 1})))
      * interval '1 s' END`

const cleanEveryMs = 60_000
/** A count is forgotten this long after its delay. Guesses at such intervals gain nothing. */
const keptFor = "interval '1 hour'"

export function createStoredDelays(link: Link, monotonicMs: () => number): SignInDelays {
  let cleanedMs = Number.NEGATIVE_INFINITY
  const ask = async <R>(statement: Statement) => {
    try {
      return await (await link.get()).connection.query<R>(statement)
    } catch (cause) {
      if (!isTrouble(cause)) throw cause
      throw new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart, cause })
    }
  }
  const idOf = (key: string) => hash('sha256', key)
  return {
    async require(key) {
      const { rows } = await ask<{ left_ms: number }>({
        text: `SELECT extract(epoch FROM until - clock_timestamp()) * 1000 AS left_ms
          FROM sign_in_failures WHERE key = $1`,
        values: [idOf(key)],
      })
      const left = rows[0]?.left_ms ?? 0
      if (left > 0) throw tooManyPasswords(left)
    },
    async failed(key) {
      await ask({
        text: `INSERT INTO sign_in_failures AS known (key, failures, until) VALUES ($1, 1, clock_timestamp())
          ON CONFLICT (key) DO UPDATE SET failures = known.failures + 1,
            until = clock_timestamp() + ${delay('(known.failures + 1)')}`,
        values: [idOf(key)],
      })
      if (monotonicMs() - cleanedMs < cleanEveryMs) return
      cleanedMs = monotonicMs()
      await ask({ text: `DELETE FROM sign_in_failures WHERE until < clock_timestamp() - ${keptFor}` })
    },
    async succeeded(key) {
      await ask({ text: 'DELETE FROM sign_in_failures WHERE key = $1', values: [idOf(key)] })
    },
  }
}
