/**
 * Publish and subscribe by key, within this process.
 *
 * A value that nobody subscribes to is dropped: subscribers read the truth from the database.
 */
export interface Topic<T> {
  publish(key: string, value: T): void
  /** Calls `listener` with each value of the key until the returned function is called. */
  subscribe(key: string, listener: (value: T) => void): () => void
  /** Keys with a subscriber. */
  keys(): string[]
}

export function createTopic<T>(): Topic<T> {
  const listeners = new Map<string, Set<(value: T) => void>>()
  return {
    keys: () => [...listeners.keys()],
    publish(key, value) {
      // A copy: a listener may unsubscribe itself or others, or subscribe.
      for (const listener of [...(listeners.get(key) ?? [])]) listener(value)
    },
    subscribe(key, listener) {
      const ofKey = listeners.get(key) ?? new Set()
      ofKey.add(listener)
      listeners.set(key, ofKey)
      return () => {
        ofKey.delete(listener)
        if (ofKey.size === 0 && listeners.get(key) === ofKey) listeners.delete(key)
      }
    },
  }
}
