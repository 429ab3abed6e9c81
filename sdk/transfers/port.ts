/** What sending and receiving a file have in common. */

import type { MessageAddress } from '../agent/directory.ts'
import type { Bootstrap } from '../contract/agent/bootstrap.ts'
import type { RecipientKey } from '../contract/agent/peers.ts'
import type { Transfer } from '../contract/agent/transfers.ts'
import type { Manifest, TransferMode } from '../contract/helper/manifest.ts'
import type { Transfers } from '../resources/transfers.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'
import type { FileEndpoint } from './wire/endpoint.ts'
import type { TransferProgress } from './wire/part-runner.ts'

/** What the two halves need of a Bridge. */
export interface Port {
  readonly transfers: Transfers
  home(transferId: string): Promise<FileEndpoint>
  address(to: string, options: KeyedOptions): Promise<MessageAddress>
  /** @throws BridgeError `not_found` when there is none */
  recipientKey(conversationId: string, options: CallOptions): Promise<RecipientKey>
  /** The capabilities that the node's bootstrap names now. */
  capabilities(options: CallOptions): Promise<Bootstrap['capabilities']>
  /** A fresh Idempotency-Key. */
  newKey(): string
  readonly clock: () => Date
  /** The time of the node, by which transfers and endpoints end, as far as its difference to this machine's is known. */
  nodeClock(): Promise<() => Date>
}

/** What sending and receiving a package take alike. */
export interface MoveOptions extends KeyedOptions {
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
  /**
   * A folder, private to this user, for what an interrupted run leaves, so that a later one uses or removes it. A profile has
   * one; several runs share it.
   */
  readonly keep?: string | undefined
}

export const isEnded = ({ state }: Transfer): boolean => state !== 'offered' && state !== 'accepted'

/** The last word of a side that has nothing left; that it could not be said makes the transfer no less done. */
export async function reportCleanup(
  { transfers }: Port,
  ended: Transfer,
  signal: AbortSignal | undefined,
): Promise<Transfer> {
  try {
    return await transfers.cleanup(ended.id, { signal })
  } catch (error) {
    if (error instanceof BridgeError || error instanceof LocalError) return ended
    throw error
  }
}

/** The manifest of an offered file, for one of its two ways. */
export const manifestOf = (
  transfer: Transfer,
  mode: TransferMode,
  filename = transfer.filename,
): Manifest => ({
  version: '1',
  transfer_id: transfer.id,
  mode,
  filename,
  size: transfer.size,
  sha256: transfer.sha256,
  parts: transfer.parts,
})
