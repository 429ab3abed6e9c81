/**
 * The sender's half of a file: describe, seal, offer, and upload what is missing or serve it from here.
 *
 * An upload is done when the package is verified there; that somebody has it, only the receipt tells. What failed is taken
 * up again by {@link resumeSending}, with the very bytes that were offered.
 *
 * Spec §1, §3; contract §9.
 */
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Transfer } from '../contract/agent/transfers.ts'
import type { MessageAddress } from '../directory.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import { describeFile } from './manifest.ts'
import { type MoveOptions, manifestOf, type Port } from './port.ts'
import { discard, keepAs, makeSealedCopy, requireSealedCopy, type SealOptions } from './sealed-copy.ts'
import { uploadFile } from './upload.ts'

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
