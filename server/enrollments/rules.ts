/**
 * States of an enrolment and the outcome of a claim.
 *
 * `pending` → `claimed`, `expired` or `revoked`. Expiry is computed with the steady clock, and `now` is in
 * steady time. The same code, key and device again get the same answer until the code expires. Another key is
 * a second use, which is reported to the owner.
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

/** Decides the outcome of a claim. `claimed` is the credential that an earlier claim created. */
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
