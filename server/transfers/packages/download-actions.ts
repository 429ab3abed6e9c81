/**
 * Downloads of packages: "recipient downloads (accepted, after finalize)".
 *
 * A download ends with the right to it, and keeps the session of its agent alive. Contract §3, §5, §9.
 */
import type { Writable } from 'node:stream'
import type { Range } from '../../../sdk/parts/blocks.ts'
import { ApiError } from '../../api-error.ts'
import type { Context } from '../../context.ts'
import type { Tx } from '../../database/tx.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { type Admitted, writeAs } from '../../identity/admission.ts'
import type { AgentCaller } from '../../identity/callers.ts'
import { ownTransfer, requirePair } from '../actions.ts'
import { requirePackage, requireState, requireThere } from '../rules.ts'
import { isOpen } from '../store.ts'
import { refusing } from './errors.ts'
import { beginMoving } from './moving.ts'

export interface Download {
  readonly transfer: TransferRow
  /** @throws PartError as {@link PackageFile.send}; ApiError when the right to it ends meanwhile */
  send(range: Range, to: Writable): Promise<void>
  close(): Promise<void>
}

/** An uploaded package for the recipient that accepted it; close it. */
export async function openDownload(context: Context, caller: AgentCaller, id: string): Promise<Download> {
  const moving = beginMoving(context, caller, (db, _, transfer) => requirePair(db, transfer))
  try {
    const admit = () => writeAs(context, caller, (tx, agent) => downloadable(context, tx, agent, id))
    const transfer = await admit()
    const file = await refusing(() => context.packages.open(transfer))
    try {
      await moving.of(transfer)
      // From here on an end stops the download; one that came just before is refused by what the transfer is now.
      if (!(await context.read((db) => isOpen(db, id)))) await admit()
    } catch (error) {
      await file.close()
      throw error
    }
    return {
      transfer,
      async send(range, to) {
        await file.send(range, to, moving.signal)
        context.presence.seen(caller.agent_id, context.steady.now())
      },
      async close() {
        moving.end()
        await file.close()
      },
    }
  } catch (error) {
    moving.end()
    throw error
  }
}

/** @throws not_found, not_permitted, state_conflict, offer_expired, package_removed, pairing_disabled */
async function downloadable(context: Context, tx: Tx, agent: Admitted, id: string): Promise<TransferRow> {
  const transfer = await ownTransfer(context, tx, agent, id)
  requirePackage(transfer)
  if (transfer.recipient_agent_id !== agent.agent_id)
    throw new ApiError('not_permitted', { message: 'Only the recipient downloads the package.' })
  // A pause stops what begins; the bytes are here, and fetching them finishes.
  await requirePair(tx.db, transfer)
  requireThere(transfer)
  requireState(transfer.state, ['accepted'], 'a download')
  if (transfer.stored_at === null)
    throw new ApiError('state_conflict', {
      message: 'The package is not uploaded yet; the sender is at it, or has to begin.',
      details: { state: transfer.state },
    })
  return transfer
}
