/**
 * Actions of the owner on transfers: read and cancel. The owner never sees endpoints, tokens or bytes.
 * Contract §9, §10.
 */
import type { Transfer, TransferList } from '../../sdk/contract/agent/transfers.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { OwnerTransferListQuery } from '../../sdk/contract/owner/transfers.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import { reconcile, recordChange } from './changes.ts'
import { withoutPackage } from './package-removal.ts'
import { toTransferList } from './queries.ts'
import { decide, isFinal } from './rules.ts'
import { findSecret } from './secrets.ts'
import * as store from './store.ts'
import { current, timesOf, toTransfer } from './views.ts'

interface TransferIds {
  readonly id: string
  readonly transfer_id: string
}

export function listTransfersAsOwner(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  query: OwnerTransferListQuery,
): Promise<TransferList> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const limit = query.limit ?? limits.pageDefault
    const { after, order, state } = query
    const range = { after, order, limit: limit + 1, state }
    const rows = await store.listInProject(db, project.id, range)
    const times = timesOf(context, context.steady.now())
    return toTransferList(rows, { after, limit, state, times })
  })
}

export function getTransferAsOwner(
  context: Context,
  caller: OwnerCaller,
  { id, transfer_id }: TransferIds,
): Promise<Transfer> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, id)
    const row = await store.findInProject(db, project.id, transfer_id)
    if (row === undefined) throw new ApiError('not_found')
    const secret = await findSecret(db, row.id)
    const times = timesOf(context, context.steady.now())
    return toTransfer(current(row, times), secret?.expires_at ?? null, times)
  })
}

export async function cancelTransferAsOwner(
  context: Context,
  caller: OwnerCaller,
  { id, transfer_id }: TransferIds,
  { reason }: { reason?: string },
): Promise<Transfer> {
  const cancelled = await writeAsOwner(context, caller, id, async (tx) => {
    const project = await getProject(tx.db, caller, id)
    const found = await store.findInProject(tx.db, project.id, transfer_id)
    if (found === undefined) throw new ApiError('not_found')
    const transfer = await reconcile(context, tx, found)
    const next = decide(transfer.state, 'cancel')
    const row =
      next === undefined ? transfer : await cancelBoth(context, tx, caller, transfer, { quote: reason })
    return toTransfer(row, null, timesOf(context, tx.steadyNow))
  })
  return withoutPackage(context, cancelled)
}

const cancelBoth = <T extends store.TransferSummaryRow>(
  context: Context,
  tx: Tx,
  caller: OwnerCaller,
  transfer: T,
  { quote, reason }: { readonly quote?: string | undefined; readonly reason?: string },
): Promise<T> => {
  const notice = {
    what: `cancelled by ${caller.name}`,
    byOwner: true,
    quote,
    note: reason,
  } as const
  return recordChange(context, tx, transfer, {
    kind: 'transfer.cancelled',
    actor: ownerActor(caller),
    change: { state: 'cancelled' },
    notices: [
      { ...notice, to: 'sender' },
      { ...notice, to: 'recipient' },
    ],
    reason,
  })
}

/**
 * Cancels the open transfers of a pair. "A disabled pair loses … transfers at once; open transfers are
 * cancelled." Contract §10.
 *
 * Returns the ids of the packages among them, for {@link removePackagesSoon} after the commit.
 */
export async function cancelOpenOfPair(
  context: Context,
  tx: Tx,
  caller: OwnerCaller,
  conversationId: string,
): Promise<string[]> {
  const open = await store.listOpenIn(tx.db, conversationId)
  for (const found of open) {
    const transfer = await reconcile(context, tx, found)
    if (!isFinal(transfer.state))
      await cancelBoth(context, tx, caller, transfer, { reason: 'the pairing was disabled' })
  }
  return open.filter(({ mode }) => mode === 'package').map(({ id }) => id)
}
