/** What sending and receiving a file have in common. */
import type { RecipientKey } from '../contract/agent/peers.ts'
import type { Transfer } from '../contract/agent/transfers.ts'
import type { Manifest, TransferMode } from '../contract/helper/manifest.ts'
import type { MessageAddress } from '../directory.ts'
import type { Transfers } from '../resources/transfers.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'
import type { FileHome } from './home.ts'
import type { TransferProgress } from './work.ts'

/** What the two halves need of a Bridge. */
export interface Port {
  readonly transfers: Transfers
  home(transferId: string): Promise<FileHome>
  address(to: string, options: KeyedOptions): Promise<MessageAddress>
  /** @throws BridgeError `not_found` when there is none */
  recipientKey(conversationId: string, options: CallOptions): Promise<RecipientKey>
  readonly clock: () => Date
}

/** What sending and receiving a package take alike. */
export interface MoveOptions extends KeyedOptions {
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
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
