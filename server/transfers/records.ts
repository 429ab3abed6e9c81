/**
 * Audit records of transfers. They contain no bytes, endpoints, tokens or text of the two sides. Contract
 * §10.
 */
import type { AuditKindOf } from '../../sdk/contract/audit-kinds.ts'
import { type Actor, recordAudit } from '../audit/store.ts'
import type { Tx } from '../database/tx.ts'
import type { TransferSummaryRow } from './store.ts'

export interface Recorded {
  readonly kind: AuditKindOf<'transfer'>
  readonly actor: Actor
  /** A reason given by the service, never by a side or the owner. */
  readonly reason?: string | undefined
}

export async function recordTransfer(
  tx: Tx,
  transfer: TransferSummaryRow,
  { kind, actor, reason }: Recorded,
): Promise<void> {
  await recordAudit(tx, {
    kind,
    actor,
    project_id: transfer.project_id,
    subject: { type: 'transfer', id: transfer.id },
    details: { state: transfer.state, mode: transfer.mode, size: transfer.size, ...(reason && { reason }) },
  })
}
