/** The connection of an agent, computed from its waits and contact in memory and from its stored session. */
import { limits } from '../../sdk/contract/limits.ts'
import type { Connection } from '../../sdk/contract/presence.ts'

export interface Observed {
  lastContact: Date | undefined
  waits: number
  /** Number of open waits that receive messages. */
  listens: number
  /** Number of running uploads and downloads. */
  moves: number
  lastWaitEnded: Date | undefined
  /** Empty if it has had no wait, upload or download. */
  projectId: string
  /** When contact was last to be written to the database, and for which session. */
  renewed: { readonly sessionId: string; readonly atMs: number } | undefined
}

/** The newest session as stored. Its last contact may be up to ten seconds old. */
export interface StoredSchedule {
  readonly last_contact_at: string | null
  readonly session_state: 'active' | 'fenced' | 'closed' | null
  readonly contact_mode: 'short_poll' | 'checkpoint' | null
  readonly contact_interval_seconds: number | null
}

/** A stored session, with what the agent's right to access depends on. */
export interface StoredContact extends StoredSchedule {
  readonly agent_state: 'enabled' | 'disabled'
  /** Expiry of the session's credential. */
  readonly credential_expires_at: string | null
  /** When the owner revoked that credential. */
  readonly credential_revoked_at: string | null
}

export const isOccupied = (agent: Observed | undefined): boolean =>
  agent !== undefined && (agent.waits > 0 || agent.moves > 0)

export const unobserved: Observed = {
  lastContact: undefined,
  waits: 0,
  listens: 0,
  moves: 0,
  lastWaitEnded: undefined,
  projectId: '',
  renewed: undefined,
}

export const observedOwner = (lastContact: Date | undefined): Observed => ({ ...unobserved, lastContact })

const within = (seconds: number, from: Date, now: Date) => now.getTime() - from.getTime() < seconds * 1000

/** The later one of the contact in memory and the stored contact, which may be at another node. */
export function lastOf(agent: Observed | undefined, stored: StoredSchedule | undefined): string | null {
  const here = agent?.lastContact?.toISOString() ?? null
  const last = stored?.last_contact_at ?? null
  return here === null || (last !== null && last > here) ? last : here
}

/**
 * Whether the agent has lost access, so that earlier contact no longer counts. A session that was closed before
 * is not fenced.
 */
const hasLostAccess = (stored: StoredContact, wallIso: string): boolean =>
  stored.session_state === 'fenced' ||
  stored.agent_state === 'disabled' ||
  stored.credential_revoked_at !== null ||
  (stored.credential_expires_at !== null && stored.credential_expires_at <= wallIso)

/** One instant in steady time and in wall time. */
interface Instant {
  readonly now: Date
  readonly observed_at: string
}

export function describe(
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
  const last = lastOf(agent, stored)
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
    last_contact_at: lastOf(agent, stored),
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
export const dueAfter = (last: string, intervalSeconds: number) => ({
  at: new Date(Date.parse(last) + intervalSeconds * 1000),
  graceMs: Math.max(limits.overdueSeconds, intervalSeconds / 10) * 1000,
})
