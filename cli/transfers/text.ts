/**
 * Formats a transfer as a row of a list, or in full.
 *
 * The other side chose the file name. It stays on one line and is never used as a path. Contract §9, §12.
 */
import type { Transfer, TransferSummary } from '../../sdk/index.ts'
import { oneLine } from '../../sdk/plain-text.ts'
import { expiryWords, relative } from '../terminal/words.ts'

export const transferHeader = ['id', 'state', 'from', 'to', 'size', 'age', 'file'] as const

type NameOf = (agentId: string) => string

/** Ids of the agents that the texts of a transfer name. */
export const agentsOf = ({ sender_agent_id, recipient_agent_id }: TransferSummary): string[] => [
  sender_agent_id,
  recipient_agent_id,
]

export const transferRow = (transfer: TransferSummary, nameOf: NameOf, now: Date): string[] => [
  transfer.id,
  transferState(transfer, now),
  nameOf(transfer.sender_agent_id),
  nameOf(transfer.recipient_agent_id),
  bytesWords(transfer.size),
  relative(transfer.created_at, now),
  transfer.filename,
]

/** The state. While the transfer is open, also the state of its bytes and when it expires. */
export function transferState(transfer: TransferSummary, now: Date): string {
  const { state, package: stored, offer, expires_at } = transfer
  if (state !== 'offered' && state !== 'accepted') return state
  const where =
    stored === null
      ? offer.endpoint_ready
        ? 'endpoint ready'
        : 'no endpoint'
      : stored.stored_at === null
        ? `${stored.stored_parts} parts uploaded`
        : 'uploaded'
  return `${state}, ${where}, ${expiryWords(expires_at, now)}`
}

const units = ['bytes', 'KiB', 'MiB', 'GiB'] as const

/** Formats a size with at most three digits; `--json` prints the exact number. */
export function bytesWords(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`
}

export function transferText(transfer: Transfer, nameOf: NameOf, now: Date): string {
  const { cleanup, receipt, package: stored } = transfer
  const when = (at: string | null) => (at === null ? 'no' : relative(at, now))
  const lines = [
    `transfer ${transfer.id}: ${oneLine(transfer.filename)}`,
    `state: ${transferState(transfer, now)}`,
    `from ${oneLine(nameOf(transfer.sender_agent_id))} to ${oneLine(nameOf(transfer.recipient_agent_id))}, ${relative(transfer.created_at, now)}`,
    `size: ${transfer.size} bytes in ${transfer.parts.length} parts`,
    `sha256: ${transfer.sha256}`,
    `mode: ${transfer.mode}, encryption: ${transfer.encryption}`,
  ]
  if (stored !== null) lines.push(`uploaded: ${when(stored.stored_at)}, removed: ${when(stored.removed_at)}`)
  lines.push(
    receipt === null
      ? 'receipt: none; the recipient has not confirmed the file'
      : `receipt: ${receipt.size} bytes, sha256 ${receipt.sha256}, ${relative(receipt.verified_at, now)}`,
    `cleaned up: sender ${when(cleanup.sender_at)}, recipient ${when(cleanup.recipient_at)}, service ${when(cleanup.service_at)}`,
  )
  return lines.join('\n')
}
