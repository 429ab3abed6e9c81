/**
 * A file from one agent to another through the service's package store: both halves, each taken up again after a failure.
 *
 * - Sending: describe, offer, upload what is missing, have the whole verified. It is done when the package is there; that
 *   somebody has it, only the receipt tells.
 * - Receiving: accept, wait for the upload, fetch what is missing, verify, give the file its name, send the receipt.
 *
 * Spec §1, §3; contract §9.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, link, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { RecipientKey } from '../contract/agent/peers.ts'
import type { Transfer } from '../contract/agent/transfers.ts'
import { emptySha256, type Manifest, type TransferMode } from '../contract/helper/manifest.ts'
import type { MessageAddress } from '../directory.ts'
import { storageFailed } from '../durable-file.ts'
import { eachBlock } from '../parts/blocks.ts'
import type { Transfers } from '../resources/transfers.ts'
import { openSealedFile } from '../sealing.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'
import { fetchDirect } from './direct.ts'
import { downloadFile } from './download.ts'
import type { FileHome } from './home.ts'
import { describeFile } from './manifest.ts'
import { discard, keepAs, makeSealedCopy, requireSealedCopy, type SealOptions } from './sealed-copy.ts'
import { uploadFile } from './upload.ts'
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

/** Which file goes to whom. */
export interface SendFileOptions extends MoveOptions {
  /** Name or id of a peer. */
  readonly to: string
  /** What the recipient sees; the file's own name when absent. */
  readonly filename?: string | undefined
  /** Until when the transfer has to be finished; a day when absent. */
  readonly ttlSeconds?: number | undefined
  /** Seal it to the recipient's registered key, where it has one; as it is when absent. */
  readonly seal?: SealOptions | undefined
  /** Serve it from this machine until the transfer is over, in place of an upload; `path` holds the bytes that travel. */
  readonly direct?: ((transfer: Transfer, path: string) => Promise<Transfer>) | undefined
  /** Told once the offer is stored: with its id the upload can be taken up again. */
  readonly onOffered?: ((transfer: Transfer) => void) | undefined
}

const manifestOf = (transfer: Transfer, mode: TransferMode, filename = transfer.filename): Manifest => ({
  version: '1',
  transfer_id: transfer.id,
  mode,
  filename,
  size: transfer.size,
  sha256: transfer.sha256,
  parts: transfer.parts,
})

/**
 * Offer a file and upload it.
 *
 * @throws LocalError `not_sendable`, `peer_unknown`, `key_missing`; BridgeError as the node refuses
 */
export async function sendFile(port: Port, path: string, options: SendFileOptions): Promise<Transfer> {
  const { onOffered, seal } = options
  const address = await port.address(options.to, { signal: options.signal })
  const recipient = await recipientOf(port, address, options)
  if (seal === undefined || recipient === undefined) {
    const transfer = await offer(port, path, { address, path, encryption: 'none' }, options)
    onOffered?.(transfer)
    return options.direct?.(transfer, path) ?? upload(port, transfer, path, options)
  }
  const copy = await makeSealedCopy(path, recipient, seal, { signal: options.signal, now: port.clock() })
  try {
    const transfer = await offer(port, copy, { address, path, encryption: 'age' }, options)
    const kept = await keepAs(copy, seal, transfer.id)
    onOffered?.(transfer)
    return await uploadSealed(port, transfer, kept, options)
  } finally {
    await discard(copy)
  }
}

interface Offering {
  readonly address: MessageAddress
  /** The file as the user named it. */
  readonly path: string
  readonly encryption: 'none' | 'age'
}

/** `bytes` are those that travel; with encryption the sealed copy. */
async function offer(
  port: Port,
  bytes: string,
  { address, path, encryption }: Offering,
  { filename = basename(path), ttlSeconds, idempotencyKey, signal, direct }: SendFileOptions,
): Promise<Transfer> {
  const described = await describeFile(bytes, { transferId: 'offer', mode: 'upload', filename, signal })
  const { size, sha256, parts } = described
  const mode = direct === undefined ? 'package' : 'direct'
  return port.transfers.offer(
    {
      ...address,
      filename,
      size,
      sha256,
      parts: [...parts],
      mode,
      encryption,
      ...(ttlSeconds !== undefined && { ttl_seconds: ttlSeconds }),
    },
    { idempotencyKey, signal },
  )
}

/** The age recipient to seal to; undefined for as it is. @throws LocalError `key_missing` where one was required */
async function recipientOf(
  port: Port,
  { conversation_id: conversation }: MessageAddress,
  { seal, signal, to }: SendFileOptions,
): Promise<string | undefined> {
  if (seal === undefined) return undefined
  try {
    return (await port.recipientKey(conversation, { signal })).recipient
  } catch (error) {
    if (!(error instanceof BridgeError && error.code === 'not_found')) throw error
    if (seal.required !== true) return undefined
    throw new LocalError('key_missing', `${to} has no registered key to seal to`, { cause: error })
  }
}

/** What taking an upload up again may be told. */
export interface ResumeOptions extends MoveOptions {
  /** Where the sealed copy was kept. */
  readonly seal?: SealOptions | undefined
}

/** Take an upload up again; the file must be the one that was offered. @throws LocalError `integrity` when it is not */
export async function resumeSending(
  port: Port,
  transferId: string,
  path: string,
  options: ResumeOptions = {},
): Promise<Transfer> {
  const transfer = await port.transfers.get(transferId, { signal: options.signal })
  if (transfer.package?.stored_at != null) return transfer
  if (transfer.encryption === 'none') return upload(port, transfer, path, options)
  return uploadSealed(port, transfer, await requireSealedCopy(options.seal, transfer.id), options)
}

/** What is stored needs no copy any more. */
async function uploadSealed(
  port: Port,
  transfer: Transfer,
  copy: string,
  options: MoveOptions & Pick<SendFileOptions, 'direct'>,
): Promise<Transfer> {
  const stored = await (options.direct?.(transfer, copy) ?? upload(port, transfer, copy, options))
  await rm(copy, { force: true })
  return stored
}

async function upload(port: Port, transfer: Transfer, path: string, options: MoveOptions): Promise<Transfer> {
  const { signal, onProgress } = options
  await uploadFile(await port.home(transfer.id), manifestOf(transfer, 'upload'), path, {
    signal,
    onProgress,
    clock: port.clock,
    expiresAt: new Date(transfer.expires_at),
  })
  return port.transfers.get(transfer.id, { signal })
}

/** Where a received file goes. */
export interface ReceiveFileOptions extends MoveOptions {
  /** Where the file goes: a path, or the folder in which it gets the offered name. The working folder when absent. */
  readonly output?: string | undefined
  /** Replace a file that has the name. */
  readonly overwrite?: boolean | undefined
  /** `AGE-SECRET-KEY-1…`, for a file that is sealed. */
  readonly ageSecret?: string | undefined
  /** In direct mode, take an endpoint of plain http. */
  readonly allowPlainHttp?: boolean | undefined
  /** Told while nothing is uploaded yet. */
  readonly onWaiting?: ((transfer: Transfer) => void) | undefined
}

/** A file that was received and checked. */
export interface ReceivedFile {
  readonly transfer: Transfer
  readonly path: string
}

/**
 * Accept an offer, and do not come back before the file is there, verified, with its receipt.
 *
 * @throws LocalError `integrity` when other bytes came: the service is told, and no file has the name;
 *   `destination_exists`; BridgeError as the node refuses
 */
export async function receiveFile(
  port: Port,
  transferId: string,
  destination: string,
  options: ReceiveFileOptions = {},
): Promise<ReceivedFile> {
  const { signal } = options
  const offered = await port.transfers.get(transferId, { signal })
  if (offered.encryption === 'age') requireSecret(options.ageSecret)
  const accepted = offered.state === 'offered' ? await port.transfers.accept(transferId, { signal }) : offered
  if (accepted.state !== 'accepted' && accepted.state !== 'verified') throw isOver(accepted)
  const transfer = accepted.mode === 'direct' ? accepted : await whenUploaded(port, accepted, options)
  const target = resolve(destination)
  const staging = join(dirname(target), `.bridge-receive-${transfer.id}`)
  if (!(await isThere(transfer, target, staging, options.overwrite === true))) {
    await fetchInto(port, transfer, staging, options)
    const staged = await opened(transfer, staging, options)
    await publish(staged, target, options.overwrite === true)
  }
  const verified = await port.transfers.receipt(
    transfer.id,
    { size: transfer.size, sha256: transfer.sha256 },
    { signal },
  )
  await rm(staging, { recursive: true, force: true })
  return { transfer: await cleanedUp(port, verified, signal), path: target }
}

/**
 * What gets the name: the verified bytes, or what was sealed in them. Bytes that this key does not open stay in the
 * staging folder, so that a run with the right key fetches nothing.
 */
async function opened(
  transfer: Transfer,
  staging: string,
  { ageSecret, signal }: ReceiveFileOptions,
): Promise<string> {
  const sealed = join(staging, stagedName)
  if (transfer.encryption === 'none') return sealed
  const plain = join(staging, plainName)
  await rm(plain, { force: true })
  await openSealedFile(sealed, plain, requireSecret(ageSecret), { signal })
  return plain
}

function requireSecret(ageSecret: string | undefined): string {
  if (ageSecret !== undefined) return ageSecret
  throw new LocalError('key_missing', 'the file is sealed, and there is no age key here to open it')
}

/**
 * Whether the very file stands at the destination: a run that ended before its receipt put it there.
 *
 * @throws LocalError `destination_exists` for any other file, before a byte is fetched
 */
async function isThere(
  transfer: Transfer,
  destination: string,
  staging: string,
  overwrite: boolean,
): Promise<boolean> {
  const found = await open(destination, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw storageFailed(destination, error)
  })
  if (found === undefined) return false
  try {
    const isSame = transfer.encryption === 'none' ? isFile(found, transfer) : isPlain(found, staging)
    if (await isSame) return true
  } finally {
    await found.close()
  }
  if (overwrite) return false
  throw new LocalError('destination_exists', `${destination} exists with other content`)
}

/** A sealed file tells nothing of what is in it; but the one that was opened here is still there under both names. */
async function isPlain(file: FileHandle, staging: string): Promise<boolean> {
  const plain = await stat(join(staging, plainName)).catch(() => undefined)
  const { dev, ino } = await file.stat()
  return plain !== undefined && plain.dev === dev && plain.ino === ino
}

async function isFile(file: FileHandle, { size, sha256 }: Transfer): Promise<boolean> {
  const stat = await file.stat()
  if (!stat.isFile() || stat.size !== size) return false
  const hash = createHash('sha256')
  await eachBlock(file, { offset: 0, size }, (block) => void hash.update(block))
  return hash.digest('hex') === sha256
}

/** What the file is called until it was verified; the name of the other side is no path here. */
const stagedName = 'file'
const plainName = 'opened'

async function fetchInto(
  port: Port,
  transfer: Transfer,
  staging: string,
  options: ReceiveFileOptions,
): Promise<void> {
  const { signal, onProgress, onWaiting } = options
  const manifest = manifestOf(transfer, 'download', stagedName)
  await mkdir(staging, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw storageFailed(staging, error)
  })
  try {
    if (transfer.mode === 'direct') {
      const waiting = () => onWaiting?.(transfer)
      const { allowPlainHttp } = options
      const more = { signal, onProgress, allowPlainHttp, clock: port.clock, onWaiting: waiting }
      return await fetchDirect(port.transfers, transfer, manifest, staging, more)
    }
    await downloadFile(await port.home(transfer.id), manifest, staging, {
      signal,
      onProgress,
      clock: port.clock,
      expiresAt: new Date(transfer.expires_at),
    })
  } catch (error) {
    if (error instanceof LocalError && error.code === 'integrity') await tellMismatch(port, transfer)
    throw error
  }
}

/** A receipt over what this side has of the file, which is nothing: the service records that it does not match. */
async function tellMismatch(port: Port, transfer: Transfer): Promise<void> {
  try {
    await port.transfers.receipt(transfer.id, { size: 0, sha256: emptySha256 })
  } catch (error) {
    // The refusal is the point of it; anything else does not outrank what happened here.
    if (!(error instanceof BridgeError || error instanceof LocalError)) throw error
  }
}

/** One name, all at once: linked where nothing may be replaced, renamed where it may. */
async function publish(staged: string, destination: string, overwrite: boolean): Promise<void> {
  try {
    await (overwrite ? rename(staged, destination) : link(staged, destination))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new LocalError('destination_exists', `${destination} exists already`, { cause: error })
    throw storageFailed(destination, error)
  }
}

/** The last word of this side; that it could not be said makes the file no less there. */
async function cleanedUp(port: Port, verified: Transfer, signal: AbortSignal | undefined): Promise<Transfer> {
  try {
    return await port.transfers.cleanup(verified.id, { signal })
  } catch (error) {
    if (error instanceof BridgeError || error instanceof LocalError) return verified
    throw error
  }
}

const isOver = ({ state }: Transfer) =>
  new LocalError('transfer_expired', `the transfer is ${state}: its file does not come`)

const lookAgainMs = { first: 250, most: 5000 }

async function whenUploaded(
  port: Port,
  transfer: Transfer,
  { signal, onWaiting }: ReceiveFileOptions,
): Promise<Transfer> {
  let current = transfer
  for (
    let ms = lookAgainMs.first;
    current.package?.stored_at == null;
    ms = Math.min(ms * 2, lookAgainMs.most)
  ) {
    if (current.state !== 'accepted') throw isOver(current)
    onWaiting?.(current)
    await pause(ms, undefined, { signal }).catch((cause: unknown) => {
      throw new LocalError('aborted', 'given up by the caller', { cause })
    })
    current = await port.transfers.get(current.id, { signal })
  }
  return current
}
