/**
 * Growing delays instead of a lockout: from the fifth consecutive wrong password of a key, 1, 2, 4 … 300
 * seconds. Kept in memory, for a node that is alone.
 *
 * The key is the name of a sign-in or the session of a confirmation. Unknown names are delayed too, so that
 * delays do not reveal which names exist. Existing sessions and links from the host are not delayed.
 *
 * Contract §10 "growing delays instead of lockout".
 */
import {
  freeAttempts,
  longestDelaySeconds,
  type SignInDelays,
  tooManyPasswords,
} from '../database/sign-in-delays.ts'

const longestMs = longestDelaySeconds * 1000
const maxEntries = 10_000

export function createSignInDelays(nowMs: () => number): SignInDelays {
  const known = new Map<string, { failures: number; until: number }>()
  return {
    async require(key) {
      const left = (known.get(key)?.until ?? 0) - nowMs()
      if (left > 0) throw tooManyPasswords(left)
    },
    async failed(key) {
      const failures = (known.get(key)?.failures ?? 0) + 1
      const delay =
        failures <= freeAttempts ? 0 : Math.min(longestMs, 1000 * 2 ** (failures - freeAttempts - 1))
      known.delete(key)
      known.set(key, { failures, until: nowMs() + delay })
      const oldest = known.size > maxEntries ? known.keys().next().value : undefined
      if (oldest !== undefined) known.delete(oldest)
    },
    async succeeded(key) {
      known.delete(key)
    },
  }
}
