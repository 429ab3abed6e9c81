/**
 * Number of stored nonces of each credential, so that no credential can fill the disk.
 *
 * The counts are in memory, because counting rows would take longer than the rest of a request. They drift if
 * a second process writes or a group fails. So a credential's rows are counted again before it is refused, at
 * most once per second.
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
