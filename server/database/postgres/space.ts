/**
 * Tries whether the database has space again after a write found none. Other writes do not tell: they may fit
 * into pages that exist.
 *
 * The table `moved` gets a file of its own, in which 1 MiB is stored. The rollback removes the file again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionSettings, PostgresConnection } from './connection.ts'

const tryEveryMs = 500

const attempt = `BEGIN; SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '5s'; TRUNCATE moved;
  INSERT INTO moved (one, state, move_id, place, at)
    SELECT 1, 'left', '', string_agg(md5(random()::text), ''), '' FROM generate_series(1, 32768);
  ROLLBACK`

/** Resolves once the database has space, or the signal is aborted. */
export async function untilSpace(settings: ConnectionSettings, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(tryEveryMs, undefined, { ref: false, signal }).catch(() => {})
    if (!signal.aborted && (await hasSpace(settings))) return
  }
}

async function hasSpace(settings: ConnectionSettings): Promise<boolean> {
  try {
    const connection = await PostgresConnection.open(settings)
    try {
      await connection.query({ text: attempt })
      return true
    } finally {
      await connection.close()
    }
  } catch {
    return false
  }
}
