/**
 * Observed presence of each agent: contact and open waits. Kept in memory, so it ends with the process.
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
import { createPresenceChanges, type WaitLevel } from './presence-changes.ts'

interface Observed {
  lastContact: Date | undefined
  waits: number
  /** Number of open waits that receive messages. */
  listens: number
  /** Number of running uploads and downloads. */
  moves: number
  lastWaitEnded: Date | undefined
  /** When contact was last written to the database, and for which session. */
  renewed: { readonly sessionId: string; readonly atMs: number } | undefined
}

/** The newest session as stored. Its last contact may be up to ten seconds old. */
export interface StoredContact {
  readonly last_contact_at: string | null
  readonly session_state: 'active' | 'fenced' | 'closed' | null
  /** Expiry of the session's credential. */
  readonly credential_expires_at: string | null
  readonly contact_mode: 'short_poll' | 'checkpoint' | null
  readonly contact_interval_seconds: number | null
}

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
   */
  touch(agentId: string, sessionId: string, now: Date): boolean
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
  openMove(agentId: string, sessionId: string): () => void
  /** Whether a wait, upload or download is open. */
  isOccupied(agentId: string): boolean
  /** Sessions with an open wait. */
  waitingSessions(): string[]
  /** Agents with an open wait, and their projects. */
  waitingAgents(): Map<string, string>
  /** Agents with a running upload or download. */
  movingAgents(): string[]
  /** Sessions with an open wait, upload or download. */
  occupiedSessions(): string[]
  /** Occupied sessions whose contact has not been written for a minute. They count as written from now on. */
  overdueRenewals(now: Date): string[]
  /** The last contact of an agent since the start. */
  lastContact(agentId: string): Date | undefined
  /** Returns the agent's connection. `stored` is its newest session as stored. */
  connection(agentId: string, now: Date, stored: StoredContact | undefined): Connection
  /**
   * Returns when the agent's schedule becomes overdue, or became it, in steady time. Undefined if it has no
   * schedule or waits.
   */
  overdueFrom(agentId: string, stored: StoredContact): Date | undefined
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

export function createPresence(
  steady: Pick<SteadyClock, 'now' | 'wall'>,
  waitsPerNode: number,
  changes = createPresenceChanges(),
): Presence {
  const agents = new Map<string, Observed>()
  const sessionWaits = new Map<string, Held>()
  const sessionLists = new Map<string, Held>()
  const sessionMoves = new Map<string, Held>()
  /** The project of each agent with an open wait. */
  const waitingIn = new Map<string, string>()
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
      return true
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
      waitingIn.set(agentId, waiting.project_id)
      if (!withoutMessages.has(transport)) agent.listens += 1
      openWaits += 1
      changes.waits(waiting, levelOf(agent))
      let open = true
      return () => {
        if (!open) return
        open = false
        closeWait(waiting, transport)
      }
    },
    openMove(agentId, sessionId) {
      hold(sessionMoves, agentId, sessionId)
      observe(agentId).moves += 1
      return () => {
        observe(agentId).moves -= 1
        release(sessionMoves, sessionId)
      }
    },
    waitingSessions: () => [...sessionWaits.keys()],
    waitingAgents: () => new Map(waitingIn),
    movingAgents: () => [...new Set([...sessionMoves.values()].map(({ agentId }) => agentId))],
    occupiedSessions: () => [...new Map([...sessionWaits, ...sessionMoves]).keys()],
    overdueRenewals(now) {
      const atMs = now.getTime()
      const overdue = [...new Map([...sessionWaits, ...sessionMoves])].filter(([sessionId, { agentId }]) => {
        const { renewed } = observe(agentId)
        return renewed?.sessionId !== sessionId || atMs - renewed.atMs >= renewedWithinMs
      })
      for (const [sessionId, { agentId }] of overdue) observe(agentId).renewed = { sessionId, atMs }
      return overdue.map(([sessionId]) => sessionId)
    },
    isOccupied: (agentId) => isOccupied(agents.get(agentId)),
    touchPerson(userId, role, now) {
      people.set(role === 'owner' ? owner : userId, now)
    },
    ownerConnection(administratorIds, now) {
      const contacts = [owner, ...administratorIds].flatMap((each) => people.get(each) ?? [])
      const last = contacts.toSorted((one, other) => one.getTime() - other.getTime()).at(-1)
      return connection(observedOwner(last), undefined, now)
    },
    lastContact: (agentId) => agents.get(agentId)?.lastContact,
    overdueFrom(agentId, stored) {
      const agent = agents.get(agentId)
      const last = agent?.lastContact?.toISOString() ?? stored.last_contact_at
      if ((agent?.listens ?? 0) > 0 || stored.contact_mode !== 'short_poll' || last === null) return undefined
      if (stored.session_state !== 'active') return undefined
      const due = dueAfter(last, stored.contact_interval_seconds ?? 0)
      return new Date(due.at.getTime() + due.graceMs)
    },
    connection: (agentId, now, stored) => connection(agents.get(agentId), stored, now),
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

const isOccupied = (agent: Observed | undefined): boolean =>
  agent !== undefined && (agent.waits > 0 || agent.moves > 0)

const unobserved: Observed = {
  lastContact: undefined,
  waits: 0,
  listens: 0,
  moves: 0,
  lastWaitEnded: undefined,
  renewed: undefined,
}

const observedOwner = (lastContact: Date | undefined): Observed => ({ ...unobserved, lastContact })

const within = (seconds: number, from: Date, now: Date) => now.getTime() - from.getTime() < seconds * 1000

/** Whether the agent has lost access, so that earlier contact no longer counts. */
const hasLostAccess = (
  { session_state, credential_expires_at: expires }: StoredContact,
  wallIso: string,
): boolean => session_state === 'fenced' || (expires !== null && expires <= wallIso)

/** One instant in steady time and in wall time. */
interface Instant {
  readonly now: Date
  readonly observed_at: string
}

function describe(
  agent: Observed | undefined,
  stored: StoredContact | undefined,
  { now, observed_at }: Instant,
): Connection {
  if (stored !== undefined && hasLostAccess(stored, observed_at))
    return disconnected(agent, stored, observed_at)
  const open = isOccupied(agent)
  const ended = agent?.lastWaitEnded
  const receivesMessages = (agent?.listens ?? 0) > 0
  const listening =
    receivesMessages || (ended !== undefined && within(limits.listeningGraceSeconds, ended, now))
  const last = agent?.lastContact?.toISOString() ?? stored?.last_contact_at ?? null
  return {
    connected: open || (last !== null && within(limits.connectedSeconds, new Date(last), now)),
    listening_now: listening,
    last_contact_at: last,
    next_contact: listening
      ? { kind: 'listening', expected_at: null, overdue: false }
      : expected(last, stored, now),
    observed_at,
  }
}

function disconnected(agent: Observed | undefined, stored: StoredContact, observed_at: string): Connection {
  return {
    connected: false,
    listening_now: false,
    last_contact_at: agent?.lastContact?.toISOString() ?? stored.last_contact_at,
    next_contact: { kind: 'unknown', expected_at: null, overdue: false },
    observed_at,
  }
}

/** A schedule belongs to its session, and an open wait overrides it. Contract §6 "Presence". */
function expected(
  last: string | null,
  stored: StoredContact | undefined,
  now: Date,
): Connection['next_contact'] {
  if (stored?.session_state !== 'active' || stored.contact_mode === null || last === null) {
    return { kind: 'unknown', expected_at: null, overdue: false }
  }
  if (stored.contact_mode === 'checkpoint') {
    return { kind: 'after_current_work_step', expected_at: null, overdue: false }
  }
  const { at, graceMs } = dueAfter(last, stored.contact_interval_seconds ?? 0)
  const overdue = now.getTime() - at.getTime() > graceMs
  return { kind: 'scheduled', expected_at: at.toISOString(), overdue }
}

/** When the next contact is due, and how late it may be. */
const dueAfter = (last: string, intervalSeconds: number) => ({
  at: new Date(Date.parse(last) + intervalSeconds * 1000),
  graceMs: Math.max(limits.overdueSeconds, intervalSeconds / 10) * 1000,
})
