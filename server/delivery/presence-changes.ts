/**
 * Notifies live views of a project that the presence of one of its agents changed:
 *
 * - A wait began: immediately.
 * - A wait ended: after half a second, unless the agent waits again by then, as it does between two long-polls.
 * - Listening ran out: 5 seconds after the last wait for messages ended.
 *
 * Each change raises the version of the project, so a view notices a change between two of its requests.
 *
 * Contract §10 "when presence changes".
 */
import { limits } from '../../sdk/contract/limits.ts'

const settleMs = 500
/** Slightly longer than the grace period, so that a view that reads then sees it ended. */
const listeningMs = limits.listeningGraceSeconds * 1000 + 100

/** 0: no wait, 1: waits without messages only, 2: a wait for messages. */
export type WaitLevel = 0 | 1 | 2

interface Seen {
  readonly projectId: string
  level: WaitLevel
  /** The level of the last announcement. */
  announced: WaitLevel
  settling: NodeJS.Timeout | undefined
  listening: NodeJS.Timeout | undefined
}

export interface PresenceChanges {
  /** Records the current waits of an agent. */
  waits(agent: { readonly agent_id: string; readonly project_id: string }, level: WaitLevel): void
  /** Rises with each change. */
  version(projectId: string): number
  /** Calls `listener` at each change until the returned function is called. */
  subscribe(projectId: string, listener: () => void): () => void
}

export function createPresenceChanges(): PresenceChanges {
  const agents = new Map<string, Seen>()
  const versions = new Map<string, number>()
  const listeners = new Map<string, Set<() => void>>()
  const version = (projectId: string) => versions.get(projectId) ?? 0

  const announce = (projectId: string) => {
    versions.set(projectId, version(projectId) + 1)
    for (const listener of listeners.get(projectId) ?? []) listener()
  }

  const after = (ms: number, act: () => void): NodeJS.Timeout => {
    const timer = setTimeout(act, ms)
    timer.unref()
    return timer
  }

  const forgetIfQuiet = (agentId: string, seen: Seen) => {
    if (seen.level === 0 && seen.settling === undefined && seen.listening === undefined)
      agents.delete(agentId)
  }

  const settle = (agentId: string, seen: Seen) => {
    seen.settling = undefined
    if (seen.level < seen.announced) {
      seen.announced = seen.level
      announce(seen.projectId)
    }
    forgetIfQuiet(agentId, seen)
  }

  const endListening = (agentId: string, seen: Seen) => {
    seen.listening = undefined
    announce(seen.projectId)
    forgetIfQuiet(agentId, seen)
  }

  return {
    version,
    waits({ agent_id, project_id }, level) {
      const seen: Seen = agents.get(agent_id) ?? {
        ...{ projectId: project_id, level: 0, announced: 0, settling: undefined, listening: undefined },
      }
      agents.set(agent_id, seen)
      if (level === 2) {
        clearTimeout(seen.listening)
        seen.listening = undefined
      } else if (seen.level === 2) seen.listening = after(listeningMs, () => endListening(agent_id, seen))
      seen.level = level
      if (level > seen.announced) {
        seen.announced = level
        announce(project_id)
      } else if (level < seen.announced) seen.settling ??= after(settleMs, () => settle(agent_id, seen))
    },
    subscribe(projectId, listener) {
      const all = listeners.get(projectId) ?? new Set()
      listeners.set(projectId, all.add(listener))
      return () => {
        all.delete(listener)
        if (all.size === 0) listeners.delete(projectId)
      }
    },
  }
}
