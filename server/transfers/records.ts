/** The audit records of transfers: never bytes, endpoints, tokens, or words of the two sides. Contract §10. */
import { type Actor, recordAudit } from '../audit/store.ts'
import type { Tx } from '../database/tx.ts'
import type { TransferRow } from '../database/work-tables.ts'

export interface Recorded {
  readonly kind: `transfer.${string}`
  readonly actor: Actor
  /** The service's own; never what a side or the owner wrote. */
  readonly reason?: string | undefined
}

export async function recordTransfer(
  tx: Tx,
  transfer: TransferRow,
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
