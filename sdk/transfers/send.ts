/**
 * Sending a file: describe it, encrypt it, offer it, and upload the missing parts or serve it from here.
 *
 * - The node verifies an uploaded package. Only the receipt confirms that the recipient has the file.
 * - The same call, or {@link resumeSending} with the id, resumes a sending with the bytes that were offered.
 *
 * Spec §1, §3; contract §9.
 */
import { constants } from 'node:fs'
import { copyFile, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { MessageAddress } from '../agent/directory.ts'
import { finalTransferStates, type Transfer } from '../contract/agent/transfers.ts'
import { sealFile } from '../sealing.ts'
import { sourceFailed, storageFailed } from '../storage/durable-file.ts'
import { BridgeError, isOutcomeUnknown, LocalError } from '../transport/failures.ts'
import { freshKey } from '../transport/http.ts'
import { type MoveOptions, manifestOf, reportCleanup, requireVerified } from './both-sides.ts'
import type { TransferContext } from './calls.ts'
import { type Sending, SendingFolder } from './local/sending-folder.ts'
import { describeFile, requireFilename } from './wire/manifest.ts'
import { packageEndpoint } from './wire/package-endpoint.ts'
import { counting, phaseOf } from './wire/part-runner.ts'
import { isPartsMissing, uploadFile } from './wire/upload.ts'

/** Encryption with the recipient's key. */
export interface SealOptions {
  /** Refuses a recipient without a key. By default, the file is then sent unencrypted. */
  readonly required?: boolean | undefined
}

/** Serves a file from this machine until its transfer has ended. `path` holds the bytes that are sent. */
export type Serve = (transfer: Transfer, path: string) => Promise<Transfer>

/** Options of sending a file. */
export interface SendFileOptions extends MoveOptions {
  /** Name or id of a peer. */
  readonly to: string
  /** Name that the recipient sees. By default the file's own name. */
  readonly filename?: string | undefined
  /** Seconds until the transfer expires. 24 hours by default. */
  readonly ttlSeconds?: number | undefined
  /** Encrypts the file with the recipient's registered key. By default it is not encrypted. Needs `keep`. */
  readonly seal?: SealOptions | undefined
  /** Serves the file from this machine instead of uploading it. */
  readonly direct?: Serve | undefined
  /** Called once the offer is stored. Its id resumes the sending later. */
  readonly onOffered?: ((transfer: Transfer) => void) | undefined
  /** Called instead of `onOffered` if the same sending was offered before and is resumed. */
  readonly onResumed?: ((transfer: Transfer) => void) | undefined
  /**
   * Called once the upload is verified and before its local record is deleted. If the process is killed in
   * between, the next run calls it again.
   */
  readonly onSent?: ((transfer: Transfer) => void) | undefined
}

/**
 * Offers a file and uploads it. With `keep`, an interrupted sending of the same file to the same peer is
 * resumed.
 *
 * @throws LocalError `capability_off`, `not_sendable`, `peer_unknown`, `key_missing`; BridgeError as the node
 * refuses
 */
export async function sendFile(
  context: TransferContext,
  path: string,
  options: SendFileOptions,
): Promise<Transfer> {
  const { keep, onOffered, onResumed, filename = basename(path) } = options
  if (options.filename !== undefined) requireFilename(filename)
  const named = { ...options, filename }
  const address = await context.directory.address(options.to, { signal: options.signal })
  const sealed_to = await recipientOf(context, address, options)
  if (keep === undefined) {
    if (sealed_to !== null) throw noFolderToSeal()
    await requireCapability(context, options)
    const transfer = await offer(context, path, { address, sealed_to }, named)
    onOffered?.(transfer)
    return reportSent(await move(context, transfer, path, { ...options, isNew: true }), options)
  }
  const sending = await sendingOf(path, address, sealed_to, named)
  const { folder, earlier } = await openSending(context, keep, sending, options)
  return runSending(context, folder, options, async () => {
    if (earlier !== undefined) {
      onResumed?.(earlier)
      return move(context, earlier, bytesOf(folder, sending), options)
    }
    const bytes = await prepared(folder, sending, options)
    const idempotencyKey = folder.idempotencyKey
    const transfer = await offer(context, bytes, { address, sealed_to }, { ...named, idempotencyKey })
    await folder.offered(transfer.id)
    onOffered?.(transfer)
    return move(context, transfer, bytes, { ...options, isNew: true })
  })
}

type SentOptions = MoveOptions & Pick<SendFileOptions, 'onSent'>

const reportSent = (sent: Transfer, { onSent }: SentOptions): Transfer => {
  onSent?.(sent)
  return sent
}

type Named = SendFileOptions & { readonly filename: string }

/**
 * Checks that the node accepts such transfers. Only called before a new offer: an existing offer is finished
 * in any case.
 *
 * @throws LocalError `capability_off`
 */
async function requireCapability(
  context: TransferContext,
  { direct, signal }: Pick<SendFileOptions, 'direct' | 'signal'>,
): Promise<void> {
  const { capabilities } = await context.bootstrap.get({ signal })
  if (direct === undefined ? capabilities.packages : capabilities.direct) return
  const what = direct === undefined ? 'packages' : 'direct transfers'
  throw new LocalError('capability_off', `the node takes no ${what} now, as its bootstrap says`)
}

const noFolderToSeal = () =>
  new LocalError('not_sendable', 'a sealed copy needs a folder: name one as `keep`')

/**
 * Deletes the copied bytes once the sending is finished; its record stays until the caller has been notified.
 * If the offer was never stored, deletes everything, since nobody can resume it.
 */
async function runSending(
  context: TransferContext,
  folder: SendingFolder,
  options: SentOptions,
  act: () => Promise<Transfer>,
): Promise<Transfer> {
  try {
    const sent = await act()
    await folder.removeBytes()
    const reported = finalTransferStates.has(sent.state)
      ? await reportCleanup(context, sent, options.signal)
      : sent
    reportSent(reported, options)
    await folder.remove()
    return reported
  } catch (error) {
    // The offer may be stored despite the failure. A retry then needs its Idempotency-Key, so the record
    // stays.
    const isLost = folder.transferId === undefined ? !isOutcomeUnknown(error) : hasEnded(error)
    if (isLost) await folder.remove()
    throw error
  } finally {
    folder.release()
  }
}

const ends: ReadonlySet<string> = new Set(['state_conflict', 'offer_expired', 'not_found'])
const hasEnded = (error: unknown): boolean =>
  error instanceof BridgeError && ends.has(error.code) && !isPartsMissing(error)

async function sendingOf(
  path: string,
  address: MessageAddress,
  sealed_to: string | null,
  { filename, ttlSeconds, direct }: Named,
): Promise<Sending> {
  const found = await stat(path, { bigint: true }).catch((error: unknown) => {
    throw sourceFailed(path, error)
  })
  if (!found.isFile()) throw new LocalError('not_sendable', `${path} is not a regular file`)
  return {
    path: resolve(path),
    file: [found.dev, found.ino, found.size, found.mtimeNs].join(':'),
    recipient_agent_id: address.recipient_agent_id,
    sealed_to,
    filename,
    mode: direct === undefined ? 'package' : 'direct',
    ttl_seconds: ttlSeconds ?? null,
  }
}

/**
 * Returns the folder of an interrupted sending of the same file, with its transfer if that can be finished,
 * or a new folder.
 */
async function openSending(
  context: TransferContext,
  keep: string,
  sending: Sending,
  { signal, idempotencyKey, direct }: SendFileOptions,
): Promise<{ folder: SendingFolder; earlier?: Transfer | undefined }> {
  const now = context.clock()
  // An Idempotency-Key from the caller always begins a new sending.
  const folder =
    idempotencyKey === undefined
      ? await SendingFolder.find(keep, (one) => one.isOf(sending) && !one.isForgotten(now))
      : undefined
  if (folder?.transferId !== undefined) {
    const earlier = await context.transfers.get(folder.transferId, { signal }).catch((error: unknown) => {
      if (error instanceof BridgeError && error.code === 'not_found') return undefined
      folder.release()
      throw error
    })
    if (earlier !== undefined && (!finalTransferStates.has(earlier.state) || earlier.state === 'verified'))
      return { folder, earlier }
    await folder.remove()
  } else if (folder !== undefined) return { folder }
  await requireCapability(context, { direct, signal })
  return { folder: await SendingFolder.begin(keep, sending, idempotencyKey ?? freshKey(context.random), now) }
}

/** Returns the path of the bytes: the file, or its private copy if it is encrypted or served. */
const bytesOf = (folder: SendingFolder, { path, mode, sealed_to }: Sending): string =>
  mode === 'package' && sealed_to === null ? path : folder.bytes

async function prepared(
  folder: SendingFolder,
  sending: Sending,
  { signal, onProgress }: MoveOptions,
): Promise<string> {
  const bytes = bytesOf(folder, sending)
  if (bytes === sending.path || (await isFile(bytes))) return bytes
  await folder.clearDraft()
  if (sending.sealed_to === null) await copied(sending.path, folder.draft)
  else {
    const onBytes = counting('sealing', (await stat(sending.path)).size, onProgress)
    await sealFile(sending.path, folder.draft, sending.sealed_to, { signal, onBytes })
  }
  await folder.keepDraft()
  return bytes
}

const isFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isFile() === true

/** Copies the file, sharing blocks where the file system can. A hard link would change with the file. */
async function copied(path: string, draft: string): Promise<void> {
  await copyFile(path, draft, constants.COPYFILE_FICLONE).catch((error: unknown) => {
    throw storageFailed(path, error)
  })
}

interface Offering {
  readonly address: MessageAddress
  readonly sealed_to: string | null
}

/** Offers the file at the path `bytes`, which holds the bytes to send. */
async function offer(
  context: TransferContext,
  bytes: string,
  { address, sealed_to }: Offering,
  { filename, ttlSeconds, idempotencyKey, signal, direct, onProgress }: Named,
): Promise<Transfer> {
  const described = await describeFile(bytes, {
    transferId: 'offer',
    mode: 'upload',
    filename,
    signal,
    onProgress: ({ bytes: read, total }) => onProgress?.(phaseOf('reading', read, total)),
  })
  const { size, sha256, parts } = described
  const mode = direct === undefined ? 'package' : 'direct'
  return context.transfers.offer(
    {
      ...address,
      filename,
      size,
      sha256,
      parts: [...parts],
      mode,
      encryption: sealed_to === null ? 'none' : 'age',
      ...(ttlSeconds !== undefined && { ttl_seconds: ttlSeconds }),
    },
    { idempotencyKey, signal },
  )
}

/**
 * Returns the age recipient of the peer, or null to send unencrypted.
 *
 * @throws LocalError `key_missing` if a key is required and there is none
 */
async function recipientOf(
  context: TransferContext,
  { conversation_id: conversation }: MessageAddress,
  { seal, signal, to }: SendFileOptions,
): Promise<string | null> {
  if (seal === undefined) return null
  try {
    return (await context.recipientKeys.ofConversation(conversation, { signal })).recipient
  } catch (error) {
    if (!(error instanceof BridgeError && error.code === 'not_found')) throw error
    if (seal.required !== true) return null
    throw new LocalError('key_missing', `${to} has no registered key to seal to`, { cause: error })
  }
}

/** Options of resuming a sending. */
export interface ResumeOptions extends MoveOptions {
  readonly onSent?: ((transfer: Transfer) => void) | undefined
  /** Serves the file from this machine. Required for a transfer that was offered in direct mode. */
  readonly direct?: Serve | undefined
}

/**
 * Resumes a sending. The file must be the one that was offered.
 *
 * @throws LocalError `integrity` if it is not, `transfer_expired` if the transfer ended without the file
 */
export async function resumeSending(
  context: TransferContext,
  transferId: string,
  path: string,
  options: ResumeOptions = {},
): Promise<Transfer> {
  const { keep, signal, direct } = options
  const transfer = await context.transfers.get(transferId, { signal })
  requireMode(transfer, direct)
  const kept =
    keep === undefined ? undefined : await SendingFolder.find(keep, (one) => one.transferId === transferId)
  if (isDone(transfer)) {
    await kept?.remove()
    if (finalTransferStates.has(transfer.state) && transfer.state !== 'verified') throw over(transfer)
    return reportSent(transfer, options)
  }
  if (kept === undefined && transfer.encryption === 'age') throw noSealedCopy()
  if (kept === undefined && (keep === undefined || direct === undefined))
    return reportSent(await move(context, transfer, path, options), options)
  const folder =
    kept ??
    (await SendingFolder.begin(keep ?? '', again(transfer, path), freshKey(context.random), context.clock()))
  return runSending(context, folder, options, async () => {
    const needsBytes = direct !== undefined || transfer.encryption === 'age'
    if (needsBytes && !(await isFile(folder.bytes))) await serveAgain(folder, transfer, path, options)
    if (folder.transferId === undefined) await folder.offered(transfer.id)
    return move(context, transfer, needsBytes ? folder.bytes : path, options)
  })
}

const noSealedCopy = () =>
  new LocalError('not_sendable', 'the sealed copy of this transfer is not here; cancel it and send anew')

const over = ({ state }: Transfer) => new LocalError('transfer_expired', `the transfer is ${state}`)

const again = (transfer: Transfer, path: string): Sending => ({
  path: resolve(path),
  file: '',
  recipient_agent_id: transfer.recipient_agent_id,
  sealed_to: null,
  filename: transfer.filename,
  mode: transfer.mode,
  ttl_seconds: null,
})

/**
 * Makes the private copy of a served file again.
 *
 * @throws LocalError `integrity` for another file
 */
async function serveAgain(
  folder: SendingFolder,
  transfer: Transfer,
  path: string,
  { signal }: ResumeOptions,
): Promise<void> {
  if (transfer.encryption === 'age') throw noSealedCopy()
  await folder.clearDraft()
  await copied(path, folder.draft)
  const { filename } = transfer
  const found = await describeFile(folder.draft, { transferId: 'offer', mode: 'upload', filename, signal })
  if (found.sha256 !== transfer.sha256)
    throw new LocalError('integrity', `${path} is not the file that was offered`)
  await folder.keepDraft()
}

function requireMode({ mode }: Transfer, direct: Serve | undefined): void {
  if ((mode === 'direct') === (direct !== undefined)) return
  const words =
    mode === 'direct' ? 'it is served from here, not uploaded' : 'it is uploaded, not served from here'
  throw new LocalError('not_sendable', `the transfer was offered as ${mode}: ${words}`)
}

const isDone = (transfer: Transfer): boolean =>
  finalTransferStates.has(transfer.state) || transfer.package?.stored_at != null

/** Uploads or serves the bytes of an offer. Does nothing if an earlier attempt has finished. */
async function move(
  context: TransferContext,
  transfer: Transfer,
  path: string,
  { direct, signal, onProgress, isNew }: MoveOptions & Pick<SendFileOptions, 'direct'> & { isNew?: boolean },
): Promise<Transfer> {
  if (isDone(transfer)) return transfer
  if (direct !== undefined) return direct(transfer, path)
  // Do not check expiry here. The shown time moves with the node's clock, so only the node can decide.
  const store = packageEndpoint(context, transfer.id)
  const upload = uploadFile(store, manifestOf(transfer, 'upload'), path, { signal, onProgress, isNew })
  await upload.catch((error: unknown) => requireVerified(context, transfer.id, error, signal))
  return context.transfers.get(transfer.id, { signal })
}
