/**
 * "Something changed for this agent", in process, after the commit.
 *
 * A wake-up carries no message: whoever waits reads the store again, so a lost one delays and never loses.
 *
 * Contract §6.
 */
export interface Wakeups {
  /** Wake whoever waits for this agent. */
  notify(agentId: string): void
  /** Calls `listener` at each notice until the returned function is called. */
  subscribe(agentId: string, listener: () => void): () => void
}

export function createWakeups(): Wakeups {
  const listeners = new Map<string, Set<() => void>>()

  return {
    notify(agentId) {
      for (const listener of [...(listeners.get(agentId) ?? [])]) listener()
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
