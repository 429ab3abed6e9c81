/**
 * Converts transfers to the wire format, with the state at the server's clock, even if the expiry is not
 * recorded yet.
 *
 * Expiries are stored in steady time, which changes of the wall clock do not affect, and shown in wall time.
 */
import type { Transfer, TransferSummary } from '../../sdk/contract/agent/transfers.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import type { TransferRow } from '../database/work-tables.ts'
import { partsOf } from '../package-store/packages.ts'
import { isFinal } from './rules.ts'
import type { TransferSummaryRow } from './store.ts'

/** An instant in steady time, with the conversion to wall time. */
export interface Times {
  /** The instant, in steady time. */
  readonly steadyIso: string
  /** Converts an instant of steady time to wall time. */
  readonly wall: SteadyClock['wall']
}

export const timesOf = ({ steady }: { readonly steady: SteadyClock }, steadyNow: Date): Times => ({
  steadyIso: steadyNow.toISOString(),
  wall: steady.wall,
})

export const hasExpired = (transfer: TransferSummaryRow, { steadyIso }: Times): boolean =>
  transfer.ends_at !== null && transfer.ends_at <= steadyIso

/** The expiry to show. While the transfer is open it follows changes of the wall clock. */
export const shownEnd = (
  { ends_at, expires_at }: TransferSummaryRow,
  { wall }: Pick<Times, 'wall'>,
): string => (ends_at === null ? expires_at : wall(ends_at))

/** Returns the current transfer, even if its expiry is not recorded yet. */
export function current<T extends TransferSummaryRow>(transfer: T, times: Times): T {
  if (!hasExpired(transfer, times)) return transfer
  const at = shownEnd(transfer, times)
  return { ...transfer, state: 'expired', ends_at: null, expires_at: at, updated_at: at }
}

/** Builds a list entry. `secretEndsAt` is the expiry of the deposited endpoint in steady time, or null. */
export function toSummary(
  transfer: TransferSummaryRow,
  secretEndsAt: string | null,
  times: Times,
): TransferSummary {
  const isReady = secretEndsAt !== null && secretEndsAt > times.steadyIso && !isFinal(transfer.state)
  return {
    id: transfer.id,
    project_id: transfer.project_id,
    conversation_id: transfer.conversation_id,
    sender_agent_id: transfer.sender_agent_id,
    recipient_agent_id: transfer.recipient_agent_id,
    filename: transfer.filename,
    size: transfer.size,
    sha256: transfer.sha256,
    mode: transfer.mode,
    encryption: transfer.encryption,
    state: transfer.state,
    expires_at: shownEnd(transfer, times),
    offer: { expires_at: isReady ? times.wall(secretEndsAt) : null, endpoint_ready: isReady },
    package: packageOf(transfer),
    receipt:
      transfer.receipt_at === null
        ? null
        : { size: transfer.size, sha256: transfer.sha256, verified_at: transfer.receipt_at },
    cleanup: {
      sender_at: transfer.cleanup_sender_at,
      recipient_at: transfer.cleanup_recipient_at,
      service_at: transfer.removed_at,
    },
    created_at: transfer.created_at,
    updated_at: transfer.updated_at,
  }
}

const packageOf = ({ mode, stored_parts, stored_at, removed_at }: TransferSummaryRow) =>
  mode === 'package' ? { stored_parts, stored_at, removed_at } : null

export const toTransfer = (transfer: TransferRow, secretEndsAt: string | null, times: Times): Transfer => ({
  ...toSummary(transfer, secretEndsAt, times),
  parts: partsOf(transfer),
})
