/** "Something was committed", for live views that then read again. In process: another one's commits are not told. */
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
