/**
 * One change of a transfer, whoever caused it: the row, its message to the other side and its audit record, in one
 * transaction; the bytes of a package go after the commit.
 *
 * Contract §9.
 */
import { systemActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import type { TransferRow } from '../database/work-tables.ts'
import { type Notice, notify } from './notices.ts'
import { removePackage } from './packages/removal.ts'
import { type Recorded, recordTransfer } from './records.ts'
import { decide, isFinal } from './rules.ts'
import { destroySecret } from './secrets.ts'
import { changeTransfer, type TransferChange } from './store.ts'
import { isOver, shownEnd, timesOf } from './views.ts'

export interface Change extends Recorded {
  readonly change: TransferChange
  readonly notices: readonly Notice[]
}

export async function recordChange(
  context: Context,
  tx: Tx,
  transfer: TransferRow,
  what: Change,
): Promise<TransferRow> {
  const ends = what.change.state !== undefined && isFinal(what.change.state)
  const end = ends ? { ends_at: null, expires_at: shownEnd(transfer, context.steady) } : {}
  const changed = await changeTransfer(tx, transfer, { ...what.change, ...end })
  if (ends) await destroySecret(tx, transfer.id)
  if (ends && transfer.mode === 'package') tx.afterCommit(() => void removePackage(context, transfer.id))
  for (const notice of what.notices) await notify(context, tx, changed, notice)
  await recordTransfer(tx, changed, what)
  return changed
}

/** Write down that a transfer's time is over, if it is. Answers the transfer as it stands now. */
export async function reconcile(context: Context, tx: Tx, transfer: TransferRow): Promise<TransferRow> {
  if (!isOver(transfer, timesOf(context, tx.steadyNow))) return transfer
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
