/**
 * Removal of leftover files of earlier runs: those of ended transfers, and of sendings that were never offered.
 *
 * Contract §9, cleanup by each side.
 */
import { resolve } from 'node:path'
import { finalTransferStates, type Transfer } from '../contract/agent/transfers.ts'
import { BridgeError } from '../transport/failures.ts'
import type { TransferContext } from './calls.ts'
import { tidyReceivings } from './local/receiving-note.ts'
import { isForgotten, tidySendings } from './local/sending-folder.ts'

/** Files and transfers that are running or about to be resumed. Their files are kept. */
export interface AtWork {
  /** Paths of files that are being sent. */
  readonly paths?: readonly string[] | undefined
  /** Ids of transfers. */
  readonly ids?: readonly string[] | undefined
}

/**
 * Removes leftover files. It never throws: if a transfer cannot be read or a file cannot be removed, it stays
 * for the next run.
 */
export async function tidyUp(
  context: TransferContext,
  keep: string,
  { paths = [], ids = [] }: AtWork,
): Promise<void> {
  const sent = new Set(paths.map((path) => resolve(path)))
  const now = context.clock()
  const isStored = (transfer: Transfer) => transfer.package?.stored_at != null
  try {
    await tidySendings(keep, async (abandoned) => {
      if (abandoned === undefined || isForgotten(abandoned, now)) return true
      if (sent.has(abandoned.path)) return false
      // A sending that was never offered can simply start again.
      const { transfer_id: id } = abandoned
      return id === null || (!ids.includes(id) && (await isLeftover(context, id, isStored)))
    })
    await tidyReceivings(keep, async (id) => !ids.includes(id) && isLeftover(context, id))
  } catch {
    // If the folder cannot be read or changed, the next send or receive reports it.
  }
}

/** Removes the leftover files of one transfer that ended or will not be resumed. */
export async function forgetTransfer(keep: string, transferId: string): Promise<void> {
  await tidySendings(keep, async (abandoned) => abandoned?.transfer_id === transferId)
  await tidyReceivings(keep, async (id) => id === transferId)
}

async function isLeftover(
  { transfers }: TransferContext,
  id: string,
  isDone: (transfer: Transfer) => boolean = () => false,
): Promise<boolean> {
  try {
    const transfer = await transfers.get(id)
    return finalTransferStates.has(transfer.state) || isDone(transfer)
  } catch (error) {
    // A node that does not answer would be waited for as often as there is something.
    if (!(error instanceof BridgeError)) throw error
    return error.code === 'not_found'
  }
}
