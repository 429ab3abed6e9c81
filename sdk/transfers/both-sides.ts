/** Options and steps that sending and receiving a file share. */
import type { Transfer } from '../contract/agent/transfers.ts'
import type { Manifest, TransferMode } from '../contract/helper/manifest.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import type { KeyedOptions } from '../transport/http.ts'
import type { TransferContext } from './calls.ts'
import type { TransferProgress } from './wire/part-runner.ts'

/** Options of both sending and receiving. */
export interface MoveOptions extends KeyedOptions {
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
  /**
   * Folder, private to this user, for the files of an interrupted run, which a later run uses or removes. A
   * profile has one such folder, which all its runs share.
   */
  readonly keep?: string | undefined
}

/**
 * Reports that this side has removed its copies and parts. If the report fails, the transfer is still
 * complete.
 */
export async function reportCleanup(
  { transfers }: TransferContext,
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

/** Returns the manifest of an offered file, for upload or download. */
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

/**
 * If the answer to the end of an upload is lost, the recipient may verify the file before the sender asks again.
 * The node then refuses, and nothing is left to upload. @throws the refusal, unless the file is verified
 */
export async function requireVerified(
  { transfers }: TransferContext,
  id: string,
  refusal: unknown,
  signal: AbortSignal | undefined,
): Promise<void> {
  const isState = refusal instanceof BridgeError && refusal.code === 'state_conflict'
  if (!isState || (await transfers.get(id, { signal })).state !== 'verified') throw refusal
}
