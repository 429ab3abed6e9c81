/**
 * What earlier runs left on this machine and nobody goes on with, removed: of transfers that are over, and of sendings that
 * were never offered.
 *
 * Contract §9, cleanup by each side.
 */
import type { Transfer } from '../contract/agent/transfers.ts'
import { BridgeError } from '../transport/failures.ts'
import { isEnded, type Port } from './port.ts'
import { tidyReceivings } from './receivings.ts'
import { tidySendings } from './sendings.ts'

/** Never refuses: what cannot be asked about, or removed, stays for the next time. Whoever asks is at work on `mine` itself. */
export async function tidyAfterOthers(port: Port, keep: string, mine?: string): Promise<void> {
  const isStored = (transfer: Transfer) => transfer.package?.stored_at != null
  try {
    await tidySendings(keep, port.clock(), (id) => isOver(port, id, isStored))
    await tidyReceivings(keep, async (id) => id !== mine && isOver(port, id))
  } catch {
    // A folder that cannot be read or changed is told by whoever has to use it.
  }
}

/** What one transfer left, which is over or is not gone on with. */
export async function forgetTransfer(port: Port, keep: string, transferId: string): Promise<void> {
  const isIt = async (id: string) => id === transferId
  await tidySendings(keep, port.clock(), isIt)
  await tidyReceivings(keep, isIt)
}

async function isOver(
  { transfers }: Port,
  id: string,
  isDone: (transfer: Transfer) => boolean = () => false,
): Promise<boolean> {
  try {
    const transfer = await transfers.get(id)
    return isEnded(transfer) || isDone(transfer)
  } catch (error) {
    return error instanceof BridgeError && error.code === 'not_found'
  }
}
