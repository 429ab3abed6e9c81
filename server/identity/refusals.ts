/**
 * Selects the refusals for lack of a right to be audited: one an hour for each actor and code, and 1000 an hour
 * in total. This bounds the memory and the audit log.
 */
import { limits } from '../../sdk/contract/limits.ts'

const maxRecords = 1000

export interface Refusals {
  /** Whether to record this refusal. If so, it counts as recorded. */
  take(actorId: string, code: string): boolean
}

/** `nowMs` must be monotonic. */
export function createRefusals(nowMs: () => number): Refusals {
  /** Time of the last record by actor and code, oldest first. */
  const recorded = new Map<string, number>()
  return {
    take(actorId, code) {
      const now = nowMs()
      for (const [key, at] of recorded) {
        if (now - at < limits.refusalRecordSeconds * 1000) break
        recorded.delete(key)
      }
      const key = `${actorId} ${code}`
      if (recorded.has(key) || recorded.size >= maxRecords) return false
      recorded.set(key, now)
      return true
    },
  }
}
