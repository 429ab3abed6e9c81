/**
 * How many live nonces each credential has, so that none can fill the disk.
 *
 * Counted in memory, since counting rows for every request costs more than the request. A second process, or a group
 * that fails, makes the count drift; it is put right, at most once a second, before anyone is refused.
 */
import type Database from 'better-sqlite3'

export const recountEveryMs = 1000

export interface NonceCounts {
  isFull(credentialId: string): boolean
  add(credentialId: string): void
  remove(credentialId: string): void
}

export function openNonceCounts(
  database: Database.Database,
  limit: number,
  monotonicMs: () => number,
): NonceCounts {
  const counted = database
    .prepare<[string], number>('SELECT count(*) FROM nonces WHERE credential_id = ?')
    .pluck()
  const live = new Map(
    database
      .prepare<[], [string, number]>('SELECT credential_id, count(*) FROM nonces GROUP BY credential_id')
      .raw()
      .all(),
  )
  const recountedAt = new Map<string, number>()

  return {
    isFull(credentialId) {
      if ((live.get(credentialId) ?? 0) < limit) return false
      const now = monotonicMs()
      if (now - (recountedAt.get(credentialId) ?? Number.NEGATIVE_INFINITY) < recountEveryMs) return true
      const count = counted.get(credentialId) ?? 0
      live.set(credentialId, count)
      if (count >= limit) recountedAt.set(credentialId, now)
      else recountedAt.delete(credentialId)
      return count >= limit
    },
    add(credentialId) {
      live.set(credentialId, (live.get(credentialId) ?? 0) + 1)
    },
    remove(credentialId) {
      const left = (live.get(credentialId) ?? 0) - 1
      if (left > 0) live.set(credentialId, left)
      else live.delete(credentialId)
    },
  }
}
