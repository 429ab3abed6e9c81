/**
 * Bounds the open waits of each owner session, so that a page that is opened repeatedly cannot use up the
 * node's waits.
 */
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { retryAfterMs } from '../retry-after.ts'

export interface OwnerWaits {
  /** Opens a wait; the returned function closes it. @throws wait_limit */
  open(sessionId: string): () => void
  readonly size: number
}

export function createOwnerWaits(): OwnerWaits {
  const held = new Map<string, number>()
  const limit = limits.ownerWaitsPerSession
  let size = 0
  return {
    get size() {
      return size
    },
    open(sessionId) {
      const count = held.get(sessionId) ?? 0
      if (count >= limit)
        throw new ApiError('wait_limit', { details: { limit }, retryAfterMs: retryAfterMs.ownWait })
      held.set(sessionId, count + 1)
      size += 1
      return () => {
        size -= 1
        const left = (held.get(sessionId) ?? 1) - 1
        if (left === 0) held.delete(sessionId)
        else held.set(sessionId, left)
      }
    },
  }
}
