/**
 * Decides whether a new instance may replace the active session.
 *
 * - The same instance with the same credential resumes the session.
 * - Another instance is refused while the active session is alive: it had contact within 90 seconds or within
 *   its declared schedule, has an open wait, upload or download, or holds a claim. So two processes never
 *   displace each other in turns.
 * - A legacy credential always replaces the session.
 * - More than three replacements in ten minutes are refused.
 *
 * Contract §5.
 */
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'

export interface ActiveSession {
  readonly id: string
  readonly credential_id: string
  readonly instance_id: string
  readonly client_name: string
  readonly last_contact_at: string
}

export interface Newcomer {
  readonly credential_id: string
  readonly instance_id: string
  readonly binding: 'key' | 'device' | 'legacy'
}

export type Start = 'fresh' | 'resume' | 'replace'

export interface Liveness {
  /** Time since the last contact. */
  readonly silentMs: number
  /** Wall time, for the refusal. */
  readonly last_contact_at: string
  /** Whether a wait, upload or download is open. */
  readonly isOccupied: boolean
  readonly holdsClaim: boolean
  readonly mode: 'short_poll' | 'checkpoint' | null
  readonly intervalSeconds: number | null
}

/** @throws session_active */
export function decideStart(
  active: ActiveSession | undefined,
  newcomer: Newcomer,
  liveness: Liveness,
): Start {
  if (active === undefined) return 'fresh'
  if (newcomer.binding === 'legacy') return 'replace'
  const same = active.instance_id === newcomer.instance_id && active.credential_id === newcomer.credential_id
  if (same) return 'resume'
  if (isAlive(liveness)) {
    throw new ApiError('session_active', {
      message: `Another instance (${active.client_name}) is active. Stop it, or ask the owner for a takeover.`,
      details: { last_contact_at: liveness.last_contact_at, client_name: active.client_name },
    })
  }
  return 'replace'
}

const isAlive = ({ silentMs, isOccupied, holdsClaim, ...schedule }: Liveness): boolean =>
  isOccupied || holdsClaim || silentMs < aliveSeconds(schedule) * 1000

/** Seconds after its last contact during which a session is alive. A declared schedule extends them. */
function aliveSeconds({ mode, intervalSeconds }: Pick<Liveness, 'mode' | 'intervalSeconds'>): number {
  if (mode === 'checkpoint') return limits.sessionAliveCheckpointSeconds
  if (mode === null || intervalSeconds === null) return limits.sessionAliveSeconds
  return 2 * intervalSeconds + limits.sessionAliveScheduleMargin
}

/** Too many replacements. The refusal is also recorded for the owner. */
export class ReplacementRefusedError extends ApiError {}

/**
 * Refuses too frequent replacements. `recent` holds the times of the replacements in the window, newest
 * first. @throws ReplacementRefusedError, with code `rate_limited`
 */
export function requireReplacementRoom(recent: readonly string[], now: Date): void {
  const oldestCounted = recent[limits.sessionReplacements - 1]
  if (oldestCounted === undefined) return
  const freeAt = Date.parse(oldestCounted) + limits.sessionReplacementWindowSeconds * 1000
  throw new ReplacementRefusedError('rate_limited', {
    message: `This agent's session was replaced ${recent.length} times in ten minutes; two instances seem to compete.`,
    retryAfterMs: Math.max(1, freeAt - now.getTime()),
  })
}
