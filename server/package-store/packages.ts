/**
 * The store of packages, as the rest of the server sees it. `folder/` keeps them in the data folder, `objects/`
 * in an S3-compatible object store.
 *
 * - Removing a package stops its uploads and downloads, so its bytes are inaccessible when the removal is
 *   reported.
 *
 * Contract §9 "Package store".
 */
import { createHash } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import type { TransferPart } from '../../sdk/contract/agent/transfers.ts'
import type { FileVerified, PartReceived } from '../../sdk/contract/helper/endpoints.ts'
import type { Range } from '../../sdk/parts/blocks.ts'
import type { Tx } from '../database/tx.ts'
import type { TransferRow } from '../database/work-tables.ts'

export interface Packages {
  /** Where the bytes are, for people. */
  readonly place: string
  /** Whether the store has answered lately. */
  answers(): boolean
  /** Returns the indices of the stored parts. */
  committed(transfer: TransferRow): Promise<readonly number[]>
  /**
   * Stores one part. It counts only after {@link StoredPart.record}.
   *
   * @throws PartError as `PartStore.receive`, `transfer_busy`, `expired` if the transfer ends
   */
  receive(transfer: TransferRow, index: number, body: Readable, signal: AbortSignal): Promise<StoredPart>
  /** @throws PartError as `PartStore.finalize`, `transfer_busy`, `expired` if the transfer ends */
  finalize(transfer: TransferRow, signal: AbortSignal): Promise<FileVerified>
  /**
   * Opens the whole file, or one of its parts, for reading. The caller must close it. @throws PartError
   * `not_found` if its bytes were removed
   */
  open(transfer: TransferRow, range: Range): Promise<PackageFile>
  /** Makes the bytes of a transfer inaccessible and starts to free them. A missing package is no error. */
  remove(transferId: string): Promise<RemovedPackage>
  /** Returns the ids of the transfers whose bytes are stored. Other files are ignored. */
  stored(): Promise<string[]>
  /** Frees removed packages whose bytes still exist. */
  sweep(): Promise<void>
  /** Resolves when every removed package has been freed or freeing it has failed. */
  freed(): Promise<void>
  close(): Promise<void>
}

export interface StoredPart {
  readonly received: PartReceived
  /**
   * Records the part in the unit that tells of it, and returns the number of stored parts. Undefined if
   * another upload has recorded the part.
   */
  record(tx: Tx): Promise<number | undefined>
}

export interface PackageFile {
  /** @throws PartError as `StoredFile.send`, `expired` if the transfer ends */
  send(to: Writable, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export interface RemovedPackage {
  /** Settles when the bytes are freed. */
  readonly gone: Promise<void>
}

export const partsOf = (transfer: TransferRow): TransferPart[] => JSON.parse(transfer.parts) as TransferPart[]

export const manifestOf = (transfer: TransferRow, mode: 'download' | 'upload') => ({
  version: '1' as const,
  transfer_id: transfer.id,
  mode,
  filename: transfer.filename,
  size: transfer.size,
  sha256: transfer.sha256,
  parts: partsOf(transfer),
})

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The form of a transfer's id. Other names in a store are not its packages. */
export const isTransferId = (name: string): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name)
