/**
 * What a claim of an enrolment meets.
 *
 * pending → claimed | expired | revoked. Expiry is read from the steady clock: `now` is an instant of it. The same code, key and device again, until the
 * code expires, get the same answer; another key is a second use, which the owner hears of.
 *
 * Contract §4.
 */
import type { EnrollmentRow } from '../database/tables.ts'

export type EnrollmentState = 'pending' | 'claimed' | 'expired' | 'revoked'

export function stateOf(row: Pick<EnrollmentRow, 'state' | 'expires_at'>, now: Date): EnrollmentState {
  return row.state === 'pending' && row.expires_at <= now.toISOString() ? 'expired' : row.state
}

export type ClaimOutcome =
  | 'claim'
  | 'repeat'
  | 'enrollment_used'
  | 'enrollment_expired'
  | 'enrollment_revoked'
  | 'device_mismatch'

export interface Claimed {
  readonly public_key: string | null
  readonly device: string | null
}

/** `claimed` is the credential that an earlier claim made. */
export function judgeClaim(
  row: Pick<EnrollmentRow, 'state' | 'expires_at' | 'binding'>,
  claimed: Claimed | undefined,
  claim: { readonly public_key: string; readonly device: string | undefined },
  now: Date,
): ClaimOutcome {
  if (row.state === 'revoked') return 'enrollment_revoked'
  const expired = row.expires_at <= now.toISOString()
  if (row.state === 'claimed') {
    const same = claimed?.public_key === claim.public_key && (claimed.device ?? undefined) === claim.device
    if (!same) return 'enrollment_used'
    return expired ? 'enrollment_expired' : 'repeat'
  }
  if (expired) return 'enrollment_expired'
  return (row.binding === 'device') === (claim.device !== undefined) ? 'claim' : 'device_mismatch'
}
