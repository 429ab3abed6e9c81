/** Entries by which one node notifies the others, by topic. */
import type { Receipt } from '../../sdk/contract/agent/events.ts'

export interface Entries {
  /** An agent whose waits read again. */
  wake: string
  /** A credential whose cached identity is outdated. */
  forget: string
  /** The agent that sent the messages, and their receipts. */
  receipts: readonly [agentId: string, receipts: readonly Receipt[]]
  /** A project with a commit, for live views. An asterisk stands for any project. */
  commit: string
  /** A commit that may concern any live view, as it may end a sign-in. An asterisk. */
  sign_in: '*'
  /** The waits of an agent at the node that tells it; see `Listener`. */
  presence: readonly [
    agentId: string,
    projectId: string,
    waiting: 0 | 1,
    listening: 0 | 1,
    since: string,
    endedAt: string | null,
  ]
  /** Contact of a person at the owner's API, in steady time. */
  person: readonly [key: string, at: string]
  /** Requests of an agent that a node admitted in the last second. */
  used: readonly [agentId: string, requests: number]
  /** Failed authentications of a network at a node in the last second. */
  failed: readonly [surface: string, network: string, failures: number]
}

export type Topic = keyof Entries

/**
 * Milliseconds until a topic is sent, so that one notification carries more of it. A live view reads at most
 * every 50 ms anyway.
 */
export const delayMs: Readonly<Record<Topic, number>> = {
  wake: 0,
  forget: 0,
  receipts: 0,
  commit: 25,
  sign_in: 0,
  presence: 0,
  person: 25,
  used: 0,
  failed: 0,
}

export const topics = Object.keys(delayMs) as readonly Topic[]
