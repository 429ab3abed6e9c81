/**
 * Receives a file: accepts the offer, waits for the upload, downloads the missing parts, verifies and
 * decrypts them, publishes the file under its name, and sends the receipt.
 *
 * If it is called again after a failure, it resumes with the parts that it has. Wrong bytes lead to a failed
 * transfer, never to a file.
 *
 * Spec §1, §3; contract §9.
 */
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { finalTransferStates, type Transfer } from '../contract/agent/transfers.ts'
import { emptySha256 } from '../contract/helper/manifest.ts'
import type { Folder } from '../parts/folder.ts'
import { openSealedFile } from '../sealing.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import { backoff, pauses } from '../transport/retry.ts'
import { type MoveOptions, manifestOf, reportCleanup } from './both-sides.ts'
import type { TransferContext } from './calls.ts'
import { fetchDirect } from './direct.ts'
import { aloneWith, isThere, newPlainName, publish, stagedName } from './local/destination.ts'
import { ReceivingNote } from './local/receiving-note.ts'
import { downloadFile } from './wire/download.ts'
import { packageEndpoint } from './wire/package-endpoint.ts'
import { counting } from './wire/part-runner.ts'

/** Options of receiving a file. */
export interface ReceiveFileOptions extends MoveOptions {
  /** Path for the file, or a folder in which it gets the offered name. By default the working folder. */
  readonly output?: string | undefined
  /** Replaces an existing file of that name. */
  readonly overwrite?: boolean | undefined
  /** Private age key, `AGE-SECRET-KEY-1…`, for an encrypted file. */
  readonly ageSecret?: string | undefined
  /** In direct mode, allows an endpoint with plain http. */
  readonly allowPlainHttp?: boolean | undefined
  /** Called whenever plain http is used, over which anyone on the network path can read the file. */
  readonly onPlainHttp?: (() => void) | undefined
  /** Called while nothing is uploaded. */
  readonly onWaiting?: ((transfer: Transfer) => void) | undefined
  /**
   * Called once the file is received and before its local record is deleted. If the process is killed in
   * between, the next run calls it again.
   */
  readonly onReceived?: ((received: ReceivedFile) => void) | undefined
}

/** Received and verified file. */
export interface ReceivedFile {
  readonly transfer: Transfer
  readonly path: string
}

/**
 * Accepts an offer. Resolves once the file is verified and published and its receipt is stored.
 *
 * @throws LocalError `integrity` if the bytes differ from the offer. The node is notified, and no file is
 * published. LocalError `destination_exists`. BridgeError for refusals of the node.
 */
export async function receiveFile(
  context: TransferContext,
  transferId: string,
  destination: string,
  options: ReceiveFileOptions = {},
): Promise<ReceivedFile> {
  const target = resolve(destination)
  const receiving = new ReceivingNote(transferId, target, options.keep)
  try {
    const transfer = await acceptedTransfer(context, transferId, options)
    const isVerified = transfer.state === 'verified'
    const more = { ...options, target }
    if (await isThere(transfer, target, receiving, isVerified || options.overwrite === true))
      return await conclude(context, transfer, receiving, more)
    if (isVerified) throw ended(transfer)
    await receiving.begin()
    return await aloneWith(receiving.staging, transferId, async (staging) => {
      await fetchAndPublish(context, transfer, receiving, staging, more)
      return conclude(context, transfer, receiving, more)
    })
  } catch (error) {
    if (isAnEnd(error)) await forgetIfEnded(context, transferId, receiving)
    throw error
  }
}

type TargetOptions = ReceiveFileOptions & { readonly target: string }

/** Sends the receipt of the published file, and removes what was needed to receive it. */
async function conclude(
  context: TransferContext,
  { id, size, sha256 }: Transfer,
  receiving: ReceivingNote,
  { signal, target, onReceived }: TargetOptions,
): Promise<ReceivedFile> {
  const verified = await context.transfers.receipt(id, { size, sha256 }, { signal })
  await receiving.removeBytes()
  const received = { transfer: await reportCleanup(context, verified, signal), path: target }
  onReceived?.(received)
  await receiving.forget()
  return received
}

/**
 * Returns the transfer once it is accepted and, in package mode, uploaded. It may already be verified, if an
 * earlier run was interrupted after its receipt.
 */
async function acceptedTransfer(
  context: TransferContext,
  transferId: string,
  options: ReceiveFileOptions,
): Promise<Transfer> {
  const { signal } = options
  const offered = await context.transfers.get(transferId, { signal })
  if (offered.encryption === 'age') requireSecret(options.ageSecret)
  const accepted =
    offered.state === 'offered' ? await context.transfers.accept(transferId, { signal }) : offered
  if (accepted.state !== 'accepted' && accepted.state !== 'verified') throw ended(accepted)
  return accepted.mode === 'direct' ? accepted : whenUploaded(context, accepted, options)
}

const ends: ReadonlySet<string> = new Set([
  'not_sendable',
  'not_found',
  'transfer_expired',
  'offer_expired',
  'state_conflict',
  'package_removed',
])
const isAnEnd = (error: unknown): boolean =>
  (error instanceof LocalError || error instanceof BridgeError) && ends.has(error.code)

/**
 * Deletes the partial file of a transfer that has ended. If the node cannot be asked, the file stays for the
 * next run.
 */
async function forgetIfEnded(
  context: TransferContext,
  transferId: string,
  receiving: ReceivingNote,
): Promise<void> {
  try {
    const transfer = await context.transfers.get(transferId)
    if (!finalTransferStates.has(transfer.state)) return
    await receiving.removeBytes()
    await reportCleanup(context, transfer, undefined)
    await receiving.forget()
  } catch (error) {
    if (!(error instanceof BridgeError || error instanceof LocalError)) throw error
  }
}

async function fetchAndPublish(
  context: TransferContext,
  transfer: Transfer,
  receiving: ReceivingNote,
  staging: Folder,
  options: TargetOptions,
): Promise<void> {
  const { target, overwrite } = options
  await fetchInto(context, transfer, receiving.staging, options)
  const staged = await opened(context, transfer, staging, options)
  await publish(staging.pathTo(staged), target, overwrite === true)
  await receiving.published(await stat(target, { bigint: true }))
}

/**
 * Returns the path of the bytes to publish: the verified or the decrypted ones. If the key does not fit, the
 * verified bytes stay in the staging folder, so that a run with the right key downloads nothing.
 */
async function opened(
  { random }: TransferContext,
  transfer: Transfer,
  staging: Folder,
  { ageSecret, signal, onProgress }: ReceiveFileOptions,
): Promise<string> {
  if (transfer.encryption === 'none') return stagedName
  const plainName = await newPlainName(staging, random)
  const [sealed, plain] = [staging.pathTo(stagedName), staging.pathTo(plainName)]
  await openSealedFile(sealed, plain, requireSecret(ageSecret), {
    signal,
    onBytes: counting('opening', transfer.size, onProgress),
  })
  return plainName
}

function requireSecret(ageSecret: string | undefined): string {
  if (ageSecret !== undefined) return ageSecret
  throw new LocalError('key_missing', 'the file is sealed, and there is no age key here to open it')
}

async function fetchInto(
  context: TransferContext,
  transfer: Transfer,
  staging: string,
  options: ReceiveFileOptions,
): Promise<void> {
  const { signal, onProgress, onWaiting } = options
  const manifest = manifestOf(transfer, 'download', stagedName)
  try {
    if (transfer.mode === 'direct') {
      const waiting = () => onWaiting?.(transfer)
      const { allowPlainHttp, onPlainHttp } = options
      const clock = await context.nodeClock.synchronised()
      const more = { signal, onProgress, allowPlainHttp, onPlainHttp, clock, onWaiting: waiting }
      return await fetchDirect(context.transfers, transfer, manifest, staging, more)
    }
    await downloadFile(packageEndpoint(context, transfer.id), manifest, staging, { signal, onProgress })
  } catch (error) {
    if (error instanceof LocalError && error.code === 'integrity') await tellMismatch(context, transfer)
    throw error
  }
}

/**
 * Sends a receipt over no bytes. It does not match the offer, so the node records the mismatch in its audit.
 */
async function tellMismatch(context: TransferContext, transfer: Transfer): Promise<void> {
  try {
    await context.transfers.receipt(transfer.id, { size: 0, sha256: emptySha256 })
  } catch (error) {
    // The node always refuses this receipt. A failure to send it must not replace the `integrity` error.
    if (!(error instanceof BridgeError || error instanceof LocalError)) throw error
  }
}

/** Returns the error for a transfer that ended without its file. */
const ended = ({ state }: Transfer) =>
  new LocalError(
    'transfer_expired',
    state === 'verified'
      ? 'the transfer is verified: its file was received before, and does not come again'
      : `the transfer is ${state}: its file does not come`,
  )

async function whenUploaded(
  context: TransferContext,
  transfer: Transfer,
  { signal, onWaiting }: ReceiveFileOptions,
): Promise<Transfer> {
  let current = transfer
  for (let looks = 1; current.package?.stored_at == null; looks += 1) {
    if (current.state !== 'accepted') throw ended(current)
    onWaiting?.(current)
    await pause(backoff(looks, pauses.uploadPending), undefined, { signal }).catch((cause: unknown) => {
      throw new LocalError('aborted', 'given up by the caller', { cause })
    })
    current = await context.transfers.get(current.id, { signal })
  }
  return current
}
