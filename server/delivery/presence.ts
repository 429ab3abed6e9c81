/**
 * Observed presence of each agent: contact and open waits. Kept in memory, so it ends with the process. On
 * PostgreSQL, `shared-presence.ts` adds the waits at other nodes.
 *
 * - Connected: authorized contact within 60 seconds.
 * - Listening now: a wait for messages is open, or the last one ended less than 5 seconds ago.
 * - Both turn false when the agent loses access: its newest session is fenced, or its credential is revoked
 *   or expired.
 * - A connected or listening agent has not necessarily read anything.
 *
 * Instants are in steady time internally and in wall time in a `Connection`.
 *
 * Spec §1; contract §6.
 */
import { limits } from '../../sdk/contract/limits.ts'
import type { Connection } from '../../sdk/contract/presence.ts'
import { ApiError } from '../api-error.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import { retryAfterMs } from '../retry-after.ts'
import {
  describe,
  dueAfter,
  isOccupied,
  lastOf,
  type Observed,
  observedOwner,
  type StoredContact,
  type StoredSchedule,
  unobserved,
} from './connection.ts'
import type { Elsewhere } from './other-nodes.ts'
import type { Waits } from './own-listeners.ts'
import { createPresenceChanges, type WaitLevel } from './presence-changes.ts'

/** Kind of an open wait. `tasks` is a poll of the task list, `inbox_list` one of the inbox list. */
export type Transport = 'long_poll' | 'event_stream' | 'socket' | 'tasks' | 'inbox_list'

/** Waits that offer no messages. */
const withoutMessages: ReadonlySet<Transport> = new Set<Transport>(['tasks', 'inbox_list'])

/** An admitted agent, as far as a wait needs it. */
interface Waiting {
  readonly agent_id: string
  readonly project_id: string
  readonly session: { readonly id: string }
}

export interface Presence {
  /**
   * Records authorized contact of an agent. Returns true if the stored time of its session should be renewed.
   * The contact is then unsaved until `saved`.
   */
  touch(agentId: string, sessionId: string, now: Date): boolean
  /** Records that the stored time of a session is at least this. Called once the commit is durable. */
  saved(sessionId: string, at: Date): void
  /**
   * Sessions whose contact is still unsaved, by an instant at or shortly before that contact: the transaction
   * that should have stored it was rolled back.
   */
  unsavedContacts(now: Date): ReadonlyMap<number, readonly string[]>
  /** Records activity of an agent that is known to have access, such as a pong. */
  seen(agentId: string, now: Date): void
  /**
   * Opens a wait; the returned function closes it. A wait that offers no messages uses a slot but does not
   * count as listening.
   *
   * @throws wait_limit, capacity_reached
   */
  openWait(agent: Waiting, transport: Transport): () => void
  /** Records the start of an upload or download; the returned function records its end. */
  openMove(agent: Waiting): () => void
  /** Whether a wait, upload or download is open. */
  isOccupied(agentId: string): boolean
  /** Sessions with an open wait. */
  waitingSessions(): string[]
  /** Agents with an open wait, and their projects. */
  waitingAgents(): Map<string, string>
  /** Sessions with an open wait, upload or download, and their agents. */
  occupiedSessions(): ReadonlyMap<string, string>
  /**
   * Occupied sessions whose contact is to be written. Until `saved`, they are unsaved. If one was not written
   * for a minute, all that were not written for half a minute are returned too, so that many share a write.
   */
  dueRenewals(now: Date): string[]
  /** The last contact of an agent since the start. */
  lastContact(agentId: string): Date | undefined
  /** Returns the agent's connection. `stored` is its newest session as stored. */
  connection(agentId: string, now: Date, stored: StoredContact | undefined): Connection
  /**
   * Returns when the agent's schedule becomes overdue, or became it, in steady time. Undefined if it has no
   * schedule or waits.
   */
  overdueFrom(agentId: string, stored: StoredSchedule): Date | undefined
  /** Returns the waits of an agent at this node. Undefined if it has had none. */
  waitsOf(agentId: string): Waits | undefined
  /** Records contact of a person at another node. */
  heardOfPerson(key: string, at: Date): void
  /** Records contact of a person at the owner's API. */
  touchPerson(userId: string, role: 'owner' | 'administrator', now: Date): void
  /**
   * Returns the connection of the people who answer for a project: the owner and the given administrators.
   */
  ownerConnection(administratorIds: readonly string[], now: Date): Connection
  readonly openWaits: number
  readonly waitsByTransport: Readonly<Record<Transport, number>>
}

/** Key of the owner in `people`. There is one owner, and agents never learn the owner's id. */
const owner = 'owner'

/**
 * Minimum interval between writes of a session's contact. It is short enough to judge 90 seconds after a
 * restart.
 */
const renewalMs = 10_000
/**
 * Maximum interval between these writes while a wait or transfer is open, so that its session is alive after
 * a restart too, even if it has sent no request for hours.
 */
const renewedWithinMs = 60_000
/** A contact that is unsaved for this long is written by the recheck. Most commits are durable much sooner. */
const unsavedMs = limits.recheckSeconds * 1000

/** Presence that a node shares with the other nodes of its database. */
export interface SharedPresence {
  /** Called after each change of the waits of an agent. */
  changed(agentId: string): void
  /** Waits of the agent at the other nodes. */
  elsewhere(agentId: string): Elsewhere | undefined
  /** Called at contact of a person. */
  sawPerson(key: string, at: Date): void
}

const alone: SharedPresence = { changed() {}, elsewhere: () => undefined, sawPerson() {} }

export function createPresence(
  steady: Pick<SteadyClock, 'now' | 'wall'>,
  waitsPerNode: number,
  changes = createPresenceChanges(),
  shared = alone,
): Presence {
  const agents = new Map<string, Observed>()
  const sessionWaits = new Map<string, Held>()
  const sessionLists = new Map<string, Held>()
  const sessionMoves = new Map<string, Held>()
  /** The project of each agent with an open wait. */
  const waitingIn = new Map<string, string>()
  /** When a session was in contact that is not known to be stored. */
  const unsaved = new Map<string, number>()
  let openWaits = 0
  const waitsByTransport = { long_poll: 0, event_stream: 0, socket: 0, tasks: 0, inbox_list: 0 }
  const people = new Map<string, Date>()

  const observe = (agentId: string): Observed => {
    const known = agents.get(agentId)
    if (known) return known
    const fresh = { ...unobserved }
    agents.set(agentId, fresh)
    return fresh
  }

  const closeWait = (waiting: Waiting, transport: Transport) => {
    const sessionId = waiting.session.id
    const agent = observe(waiting.agent_id)
    waitsByTransport[transport] -= 1
    agent.waits -= 1
    if (agent.waits === 0) waitingIn.delete(waiting.agent_id)
    if (!withoutMessages.has(transport)) {
      agent.listens -= 1
      agent.lastWaitEnded = steady.now()
    }
    openWaits -= 1
    release(sessionWaits, sessionId)
    if (transport === 'inbox_list') release(sessionLists, sessionId)
    changes.waits(waiting, levelOf(agent))
    shared.changed(waiting.agent_id)
  }

  /** The agent as all nodes see it. */
  const everywhere = (agentId: string): Observed | undefined => {
    const here = agents.get(agentId)
    const there = shared.elsewhere(agentId)
    if (there === undefined) return here
    const { waits, listens, lastWaitEnded, ...rest } = here ?? unobserved
    const { endedAt } = there
    const isLater = endedAt !== undefined && (lastWaitEnded === undefined || endedAt > lastWaitEnded)
    return {
      ...rest,
      waits: waits + (there.waiting ? 1 : 0),
      listens: listens + (there.listening ? 1 : 0),
      lastWaitEnded: isLater ? endedAt : lastWaitEnded,
    }
  }

  const connection = (
    agent: Observed | undefined,
    stored: StoredContact | undefined,
    now: Date,
  ): Connection => {
    const described = describe(agent, stored, { now, observed_at: steady.wall(now.toISOString()) })
    const { last_contact_at: last, next_contact: next } = described
    return {
      ...described,
      last_contact_at: last && steady.wall(last),
      next_contact: { ...next, expected_at: next.expected_at && steady.wall(next.expected_at) },
    }
  }

  return {
    waitsByTransport,
    get openWaits() {
      return openWaits
    },
    touch(agentId, sessionId, now) {
      const agent = observe(agentId)
      const atMs = now.getTime()
      const { renewed } = agent
      agent.lastContact = now
      if (renewed?.sessionId === sessionId && atMs - renewed.atMs < renewalMs) return false
      agent.renewed = { sessionId, atMs }
      unsaved.set(sessionId, atMs)
      return true
    },
    saved(sessionId, at) {
      if ((unsaved.get(sessionId) ?? Number.POSITIVE_INFINITY) <= at.getTime()) unsaved.delete(sessionId)
    },
    unsavedContacts(now) {
      const late = [...unsaved].filter(([, atMs]) => now.getTime() - atMs >= unsavedMs)
      // Contacts of about the same time share a write.
      const byInstant = Map.groupBy(late, ([, atMs]) => Math.floor(atMs / unsavedMs) * unsavedMs)
      return new Map([...byInstant].map(([atMs, some]) => [atMs, some.map(([sessionId]) => sessionId)]))
    },
    seen(agentId, now) {
      observe(agentId).lastContact = now
    },
    openWait(waiting, transport) {
      const { agent_id: agentId } = waiting
      const sessionId = waiting.session.id
      const isList = transport === 'inbox_list'
      requireSlot(sessionWaits, sessionId, limits.waitsPerSession)
      if (isList) requireSlot(sessionLists, sessionId, limits.listsPerSession)
      if (openWaits >= waitsPerNode) {
        throw new ApiError('capacity_reached', {
          details: { limit: 'waits' },
          retryAfterMs: retryAfterMs.othersWait,
        })
      }
      hold(sessionWaits, agentId, sessionId)
      if (isList) hold(sessionLists, agentId, sessionId)
      waitsByTransport[transport] += 1
      const agent = observe(agentId)
      agent.waits += 1
      agent.projectId = waiting.project_id
      waitingIn.set(agentId, waiting.project_id)
      if (!withoutMessages.has(transport)) agent.listens += 1
      openWaits += 1
      changes.waits(waiting, levelOf(agent))
      shared.changed(agentId)
      let open = true
      return () => {
        if (!open) return
        open = false
        closeWait(waiting, transport)
      }
    },
    openMove({ agent_id: agentId, project_id, session }) {
      hold(sessionMoves, agentId, session.id)
      const agent = observe(agentId)
      agent.moves += 1
      agent.projectId = project_id
      shared.changed(agentId)
      return () => {
        agent.moves -= 1
        release(sessionMoves, session.id)
        shared.changed(agentId)
      }
    },
    waitingSessions: () => [...sessionWaits.keys()],
    waitingAgents: () => new Map(waitingIn),
    occupiedSessions: () =>
      new Map([...sessionWaits, ...sessionMoves].map(([sessionId, { agentId }]) => [sessionId, agentId])),
    dueRenewals(now) {
      const atMs = now.getTime()
      const occupied = [...new Map([...sessionWaits, ...sessionMoves])]
      const isOlder =
        (leastMs: number) =>
        ([sessionId, { agentId }]: (typeof occupied)[number]) => {
          const { renewed } = observe(agentId)
          return renewed?.sessionId !== sessionId || atMs - renewed.atMs >= leastMs
        }
      if (!occupied.some(isOlder(renewedWithinMs))) return []
      const due = occupied.filter(isOlder(renewedWithinMs / 2))
      for (const [sessionId, { agentId }] of due) {
        observe(agentId).renewed = { sessionId, atMs }
        unsaved.set(sessionId, atMs)
      }
      return due.map(([sessionId]) => sessionId)
    },
    waitsOf(agentId) {
      const agent = agents.get(agentId)
      if (agent === undefined || agent.projectId === '') return undefined
      return {
        agent_id: agentId,
        project_id: agent.projectId,
        waiting: isOccupied(agent) ? 1 : 0,
        listening: agent.listens > 0 ? 1 : 0,
        ended_at: agent.lastWaitEnded?.toISOString() ?? null,
      }
    },
    isOccupied: (agentId) => isOccupied(everywhere(agentId)),
    touchPerson(userId, role, now) {
      const key = role === 'owner' ? owner : userId
      people.set(key, now)
      shared.sawPerson(key, now)
    },
    heardOfPerson(key, at) {
      if ((people.get(key)?.getTime() ?? 0) < at.getTime()) people.set(key, at)
    },
    ownerConnection(administratorIds, now) {
      const contacts = [owner, ...administratorIds].flatMap((each) => people.get(each) ?? [])
      const last = contacts.toSorted((one, other) => one.getTime() - other.getTime()).at(-1)
      return connection(observedOwner(last), undefined, now)
    },
    lastContact: (agentId) => agents.get(agentId)?.lastContact,
    overdueFrom(agentId, stored) {
      const agent = everywhere(agentId)
      const last = lastOf(agent, stored)
      if ((agent?.listens ?? 0) > 0 || stored.contact_mode !== 'short_poll' || last === null) return undefined
      if (stored.session_state !== 'active') return undefined
      const due = dueAfter(last, stored.contact_interval_seconds ?? 0)
      return new Date(due.at.getTime() + due.graceMs)
    },
    connection: (agentId, now, stored) => connection(everywhere(agentId), stored, now),
  }
}

/** Number of waits or transfers that a session holds open. */
interface Held {
  readonly agentId: string
  held: number
}

function hold(all: Map<string, Held>, agentId: string, sessionId: string): void {
  const session = all.get(sessionId) ?? { agentId, held: 0 }
  session.held += 1
  all.set(sessionId, session)
}

function requireSlot(all: Map<string, Held>, sessionId: string, limit: number): void {
  if ((all.get(sessionId)?.held ?? 0) < limit) return
  throw new ApiError('wait_limit', { details: { limit }, retryAfterMs: retryAfterMs.ownWait })
}

function release(all: Map<string, Held>, sessionId: string): void {
  const session = all.get(sessionId)
  if (session === undefined) return
  session.held -= 1
  if (session.held === 0) all.delete(sessionId)
}

const levelOf = ({ waits, listens }: Observed): WaitLevel => (listens > 0 ? 2 : waits > 0 ? 1 : 0)
