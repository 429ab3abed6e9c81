/** Notifies live views after each commit, so that they read again. */
import { isProject, type Lane, nodeLane } from './lanes.ts'

/** Any project, for a commit that names none. */
export const any = '*'

export interface CommitListeners {
  /**
   * Called after a commit of this node. `lanes` are those that it changed; without them, or if it holds none,
   * it may concern any project.
   */
  notify(lanes?: readonly Lane[]): void
  /** Called after a commit of another node. */
  notifyOf(project: string): void
  /**
   * Receives the projects of the commits of this node. An asterisk stands for any project, and the lane of the
   * installation for a commit that may end a sign-in.
   */
  onOwn(tell: (project: Lane) => void): void
  /** Calls `listener` after each commit that may concern the project until the returned function is called. */
  subscribe(projectId: string, listener: () => void): () => void
  /** Projects with a listener. */
  projects(): string[]
}

export function createCommitListeners(): CommitListeners {
  const listeners = new Map<() => void, string>()
  let told: ((project: Lane) => void) | undefined
  const notifyOf = (project: string) => {
    for (const [listener, own] of listeners) if (project === any || own === project) listener()
  }
  return {
    notify(lanes = []) {
      notifyOf(any)
      if (told === undefined) return
      if (lanes.includes(nodeLane)) told(nodeLane)
      else for (const lane of lanes.length === 0 ? [any] : new Set(lanes)) if (isProject(lane)) told(lane)
    },
    notifyOf,
    onOwn(tell) {
      told = tell
    },
    subscribe(projectId, listener) {
      // Another function for each call, because two views may pass the same one.
      const own = () => listener()
      listeners.set(own, projectId)
      return () => listeners.delete(own)
    },
    projects: () => [...new Set(listeners.values())],
  }
}
