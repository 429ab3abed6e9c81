/**
 * Records of what each sign-in last saw of a project's presence, and of the last answer about a change. So a
 * live view gets an answer about a change between two of its requests, and at most one answer a second.
 */

export interface SeenPresence {
  readonly version: number
  /** In steady time. */
  readonly at: Date
  /** Monotonic milliseconds of the last answer about a change. */
  readonly toldMs: number
}

export interface OwnerViews {
  find(sessionId: string, projectId: string): SeenPresence | undefined
  /** Records a reading of the presence. Without `toldMs`, the time of the last answer stays. */
  saw(
    sessionId: string,
    projectId: string,
    seen: Pick<SeenPresence, 'version' | 'at'> & { readonly toldMs?: number },
  ): void
}

/** The views that are remembered. A forgotten view reads again after its next wait. */
const maxViews = 1000

export function createOwnerViews(): OwnerViews {
  const views = new Map<string, SeenPresence>()
  const keyOf = (sessionId: string, projectId: string) => `${sessionId} ${projectId}`
  return {
    find: (sessionId, projectId) => views.get(keyOf(sessionId, projectId)),
    saw(sessionId, projectId, seen) {
      const key = keyOf(sessionId, projectId)
      const toldMs = views.get(key)?.toldMs ?? Number.NEGATIVE_INFINITY
      views.delete(key)
      views.set(key, { toldMs, ...seen })
      const [oldest] = views.keys()
      if (views.size > maxViews && oldest !== undefined) views.delete(oldest)
    },
  }
}
