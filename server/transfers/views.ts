/** A transfer as the wire shows it: its state at the server's clock, whatever was written down of its expiry. */
import type { Transfer, TransferPart, TransferSummary } from '../../sdk/contract/agent/transfers.ts'
import type { TransferRow } from '../database/tables.ts'
import { isFinal } from './rules.ts'
import type { TransferSummaryRow } from './store.ts'

export const isOver = (transfer: TransferSummaryRow, nowIso: string): boolean =>
  transfer.ends_at !== null && transfer.ends_at <= nowIso

/** The transfer as it stands now, though nobody wrote its expiry down yet. */
export const current = <T extends TransferSummaryRow>(transfer: T, nowIso: string): T =>
  isOver(transfer, nowIso)
    ? { ...transfer, state: 'expired', ends_at: null, updated_at: transfer.expires_at }
    : transfer

/** `secretExpiresAt`: of the endpoint that is deposited, or null. */
export function toSummary(
  transfer: TransferSummaryRow,
  secretExpiresAt: string | null,
  nowIso: string,
): TransferSummary {
  const isReady = secretExpiresAt !== null && secretExpiresAt > nowIso && !isFinal(transfer.state)
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
    expires_at: transfer.expires_at,
    offer: { expires_at: isReady ? secretExpiresAt : null, endpoint_ready: isReady },
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

export const partsOf = (transfer: TransferRow): TransferPart[] => JSON.parse(transfer.parts) as TransferPart[]

export const toTransfer = (
  transfer: TransferRow,
  secretExpiresAt: string | null,
  nowIso: string,
): Transfer => ({ ...toSummary(transfer, secretExpiresAt, nowIso), parts: partsOf(transfer) })
