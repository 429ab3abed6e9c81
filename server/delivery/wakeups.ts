/**
 * In-process notices, after a commit, that something changed for an agent.
 *
 * A notice carries no message: the waiting request reads the database again. A lost notice therefore delays a
 * message but cannot lose it.
 *
 * Contract §6.
 */
export interface Wakeups {
  /** Wakes all waits of this agent. */
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
