/**
 * In-process notices, after a commit, that something changed for an agent.
 *
 * A notice carries no message: the waiting request reads the database again. A lost notice therefore delays a
 * message but cannot lose it.
 *
 * Contract §6.
 */
import { createTopic, type Topic } from './topic.ts'

export interface Wakeups extends Pick<Topic<void>, 'subscribe'> {
  /** Wakes all waits of this agent. */
  notify(agentId: string): void
}

export function createWakeups(): Wakeups {
  const { publish, subscribe } = createTopic<void>()
  return { notify: (agentId) => publish(agentId), subscribe }
}
