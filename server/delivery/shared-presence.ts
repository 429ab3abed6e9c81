/** Connects the presence of this node with that of the others. */
import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../bus/bus.ts'
import type { Listeners } from '../database/listeners.ts'
import type { Nodes } from '../database/nodes.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import { followOtherNodes, OtherNodes } from './other-nodes.ts'
import { OwnListeners } from './own-listeners.ts'
import type { Presence, SharedPresence } from './presence.ts'
import type { PresenceChanges } from './presence-changes.ts'

export interface SharingServices {
  readonly bus: Bus
  readonly store: {
    readonly listeners?: Listeners
    readonly nodes: Pick<Nodes, 'onReturn'>
    readonly steady: Pick<SteadyClock, 'now'>
  }
  readonly log: Pick<FastifyBaseLogger, 'error'>
}

export interface Sharing {
  readonly shared: SharedPresence
  /** Begins to share. */
  follow(presence: Presence): void
  stop(): Promise<void>
}

/** Minimum delay between two notices of contact of a person. Contact counts for 60 seconds. */
const personEveryMs = 10_000

/** Returns undefined on SQLite, where a node is alone. */
export function sharePresence(
  { bus, store, log }: SharingServices,
  changes: PresenceChanges,
): Sharing | undefined {
  const { listeners, nodes, steady } = store
  if (listeners === undefined) return undefined
  const others = new OtherNodes(changes)
  const toldPeople = new Map<string, number>()
  let own: OwnListeners | undefined
  let stopFollowing = () => {}
  return {
    shared: {
      changed: (agentId) => own?.changed(agentId),
      elsewhere: (agentId) => others.of(agentId),
      sawPerson(key, at) {
        if (at.getTime() - (toldPeople.get(key) ?? 0) < personEveryMs) return
        toldPeople.set(key, at.getTime())
        bus.tell('person', [key, at.toISOString()])
      },
    },
    follow(presence) {
      const { waitsOf } = presence
      own = new OwnListeners({ bus, nodes, log, now: steady.now, waitsOf }, listeners)
      stopFollowing = followOtherNodes({ bus, log }, others, listeners)
      bus.hear('person', ([key, at]) => presence.heardOfPerson(key, new Date(at)))
    },
    async stop() {
      stopFollowing()
      await own?.stop()
    },
  }
}
