/**
 * Which failed sign-ins the audit records: at most one a minute and network, and 1000 a minute in all. Strangers may fail
 * from many addresses, so this bounds the memory and the audit.
 *
 * Contract §10 "Failed sign-ins are audited".
 */
import { networkOf } from '../identity/network.ts'

const windowMs = 60_000
const networksAtOnce = 1000

export interface FailedSignIns {
  /** Whether to record a failure from this address. If so, it counts as recorded. */
  take(address: string): boolean
}

/** `nowMs` never goes back. */
export function createFailedSignIns(nowMs: () => number): FailedSignIns {
  /** When a failure from a network was recorded, oldest first. */
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
      if (recorded.has(network) || recorded.size >= networksAtOnce) return false
      recorded.set(network, now)
      return true
    },
  }
}
