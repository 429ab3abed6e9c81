/**
 * Applies one change of a transfer: the row, its messages and its audit record, in one transaction. The bytes
 * of an ended package are removed after the commit.
 *
 * Contract §9.
 */
import { systemActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import { type Notice, notify } from './notices.ts'
import { removePackage } from './package-removal.ts'
import { type Recorded, recordTransfer } from './records.ts'
import { decide, isFinal } from './rules.ts'
import { destroySecret } from './secrets.ts'
import { changeTransfer, type TransferChange, type TransferSummaryRow } from './store.ts'
import { hasExpired, shownEnd, timesOf } from './views.ts'

export interface Change extends Recorded {
  readonly change: TransferChange
  readonly notices: readonly Notice[]
}

export async function recordChange<T extends TransferSummaryRow>(
  context: Context,
  tx: Tx,
  transfer: T,
  entry: Change,
): Promise<T> {
  const ends = entry.change.state !== undefined && isFinal(entry.change.state)
  const end = ends ? { ends_at: null, expires_at: shownEnd(transfer, context.steady) } : {}
  const changed = await changeTransfer(tx, transfer, { ...entry.change, ...end })
  if (ends) await destroySecret(tx, transfer.id)
  if (ends && transfer.mode === 'package') tx.afterCommit(() => void removePackage(context, transfer.id))
  for (const notice of entry.notices) await notify(context, tx, changed, notice)
  await recordTransfer(tx, changed, entry)
  // Wakes both sides, because each may wait for this change and only some changes send a notice.
  for (const side of [changed.sender_agent_id, changed.recipient_agent_id])
    tx.afterCommit(() => context.wakeups.notify(side))
  return changed
}

/** Records the expiry of a transfer if it has expired, and returns the current transfer. */
export async function reconcile<T extends TransferSummaryRow>(
  context: Context,
  tx: Tx,
  transfer: T,
): Promise<T> {
  if (!hasExpired(transfer, timesOf(context, tx.steadyNow))) return transfer
  const state = decide(transfer.state, 'expire')
  return recordChange(context, tx, transfer, {
    kind: 'transfer.expired',
    actor: systemActor,
    change: { ...(state && { state }) },
    notices: [
      { to: 'sender', what: 'expired' },
      { to: 'recipient', what: 'expired' },
    ],
  })
}
