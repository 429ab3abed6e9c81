/**
 * Selects the failed sign-ins to be audited: at most one per minute and network, and 1000 per minute in
 * total. Strangers may fail from many addresses, so this bounds the memory and the audit log.
 *
 * Contract §10 "Failed sign-ins are audited".
 */
import { networkOf } from './network.ts'

const windowMs = 60_000
const maxNetworks = 1000

export interface FailedSignIns {
  /** Whether to record a failure from this address. If so, it counts as recorded. */
  take(address: string): boolean
}

/** `nowMs` must be monotonic. */
export function createFailedSignIns(nowMs: () => number): FailedSignIns {
  /** Time of the last recorded failure by network, oldest first. */
  const recorded = new Map<string, number>()
  const forgetUntil = (end: number) => {
    for (const [network, at] of recorded) {
      if (at > end) return
      recorded.delete(network)
    }
  }
  return {
    take(address) {
      const now = nowMs()
      forgetUntil(now - windowMs)
      const network = networkOf(address)
      if (recorded.has(network) || recorded.size >= maxNetworks) return false
      recorded.set(network, now)
      return true
    },
  }
}
