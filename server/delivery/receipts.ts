/**
 * Notifies a sender's open streams, after the commit, that its message was acknowledged. In process only.
 *
 * A receipt is a hint that may be lost. The message itself has the truth. Contract §6.
 */
import type { Receipt } from '../../sdk/contract/events.ts'

export interface Receipts {
  publish(agentId: string, receipts: readonly Receipt[]): void
  subscribe(agentId: string, listener: (receipts: readonly Receipt[]) => void): () => void
}

export function createReceipts(): Receipts {
  const listeners = new Map<string, Set<(receipts: readonly Receipt[]) => void>>()
  return {
    publish(agentId, receipts) {
      for (const listener of [...(listeners.get(agentId) ?? [])]) listener(receipts)
    },
    subscribe(agentId, listener) {
      const set = listeners.get(agentId) ?? new Set()
      set.add(listener)
      listeners.set(agentId, set)
      return () => {
        set.delete(listener)
        if (set.size === 0) listeners.delete(agentId)
      }
    },
  }
}
