/**
 * Notices, after a commit, that something changed for an agent: to its waits at this node, and to those at the
 * other nodes of the database.
 *
 * A notice carries no message: the waiting request reads the database again. A lost notice therefore delays a
 * message but cannot lose it.
 *
 * Contract §6.
 */
import { type Bus, noBus } from '../bus/bus.ts'
import { createTopic, type Topic } from './topic.ts'

export interface Wakeups extends Pick<Topic<void>, 'subscribe'> {
  /** Wakes all waits of this agent, at every node. */
  notify(agentId: string): void
  /** Wakes the waits of this agent at this node. */
  notifyHere(agentId: string): void
}

export function createWakeups(bus: Pick<Bus, 'tell' | 'hear' | 'onGap'> = noBus): Wakeups {
  const { publish, subscribe, keys } = createTopic<void>()
  const notifyHere = (agentId: string) => publish(agentId)
  bus.hear('wake', notifyHere)
  bus.onGap(() => keys().forEach(notifyHere))
  return {
    notify(agentId) {
      publish(agentId)
      bus.tell('wake', agentId)
    },
    notifyHere,
    subscribe,
  }
}
