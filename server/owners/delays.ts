/**
 * Growing delays instead of a lockout: from the fifth wrong password of a name in a row, 1, 2, 4 … 300 seconds.
 *
 * An unknown name is delayed alike, so that delays tell nothing. Sessions and links from the host stay usable.
 *
 * Contract §10 "growing delays instead of lockout".
 */
import { Fault } from '../fault.ts'

const free = 4
const longestMs = 300_000
const remembered = 10_000

export interface SignInDelays {
  /** @throws rate_limited while the name has to wait */
  require(name: string): void
  failed(name: string): void
  succeeded(name: string): void
}

export function createSignInDelays(nowMs: () => number): SignInDelays {
  const names = new Map<string, { failures: number; until: number }>()
  return {
    require(name) {
      const left = (names.get(name)?.until ?? 0) - nowMs()
      if (left <= 0) return
      throw new Fault('rate_limited', {
        message: `Too many wrong passwords; wait ${Math.ceil(left / 1000)} s.`,
        retryAfterMs: Math.ceil(left),
      })
    },
    failed(name) {
      const failures = (names.get(name)?.failures ?? 0) + 1
      const delay = failures <= free ? 0 : Math.min(longestMs, 1000 * 2 ** (failures - free - 1))
      names.delete(name)
      names.set(name, { failures, until: nowMs() + delay })
      const oldest = names.size > remembered ? names.keys().next().value : undefined
      if (oldest !== undefined) names.delete(oldest)
    },
    succeeded(name) {
      names.delete(name)
    },
  }
}
