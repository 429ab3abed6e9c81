/**
 * Notifies live views after each commit, so that they read again. Commits of other processes are not
 * reported.
 */
export interface CommitListeners {
  notify(): void
  /** Calls `listener` after each commit until the returned function is called. */
  subscribe(listener: () => void): () => void
}

export function createCommitListeners(): CommitListeners {
  const listeners = new Set<() => void>()
  return {
    notify() {
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
