/**
 * May a new instance take the place of the active session?
 *
 * - The same instance with the same credential resumes.
 * - Another instance waits while the active one is alive: contact within 90 seconds, or as long as its declared
 *   schedule says, or an open wait, upload or download, or a claim that it holds. So two processes never displace each other in turns.
 * - A legacy credential always replaces.
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
  /** Since its last contact. */
  readonly silentMs: number
  /** As it is shown. */
  readonly last_contact_at: string
  /** An open wait, upload or download. */
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

/** How long after its last contact a session counts as alive: a declared schedule stretches it. */
function aliveSeconds({ mode, intervalSeconds }: Pick<Liveness, 'mode' | 'intervalSeconds'>): number {
  if (mode === 'checkpoint') return limits.sessionAliveCheckpointSeconds
  if (mode === null || intervalSeconds === null) return limits.sessionAliveSeconds
  return 2 * intervalSeconds + limits.sessionAliveScheduleMargin
}

/** Too many replacements: the owner learns of it, beside the caller. */
export class ReplacementRefusedError extends ApiError {}

/** `recent`: when each replacement of the window happened, newest first. @throws ReplacementRefusedError, which is `rate_limited` */
export function requireReplacementRoom(recent: readonly string[], now: Date): void {
  const oldestCounted = recent[limits.sessionReplacements - 1]
  if (oldestCounted === undefined) return
  const freeAt = Date.parse(oldestCounted) + limits.sessionReplacementWindowSeconds * 1000
  throw new ReplacementRefusedError('rate_limited', {
    message: `This agent's session was replaced ${recent.length} times in ten minutes; two instances seem to compete.`,
    retryAfterMs: Math.max(1, freeAt - now.getTime()),
  })
}
