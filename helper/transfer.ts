/**
 * The single transfer of a helper: its manifest, and the file or the part store.
 *
 * - In mode `download`, the file was checked against the manifest at the start and stays open.
 * - In mode `upload`, parts are committed to the store, and the whole file is published at the end.
 *
 * Spec §3, §4.5.
 */
import type { Readable, Writable } from 'node:stream'
import type { FileVerified, PartReceived, TransferStatus } from '../sdk/contract/helper/endpoints.ts'
import type { Manifest, ManifestPart } from '../sdk/contract/helper/manifest.ts'
import type { Range } from '../sdk/parts/blocks.ts'
import { ManifestChangedError } from '../sdk/parts/committed-parts.ts'
import type { Folder } from '../sdk/parts/folder.ts'
import { PartError } from '../sdk/parts/part-error.ts'
import { PartStore } from '../sdk/parts/part-store.ts'
import type { Pace } from '../sdk/parts/receive.ts'
import { StoredFile } from '../sdk/parts/stored.ts'
import type { Lifetime } from './lifetime.ts'
import type { ManifestFile } from './manifest-file.ts'
import { StartError } from './start-failure.ts'

export interface TransferOptions {
  readonly lifetime: Lifetime
  /** Minimum pace of a body. */
  readonly pace?: Pace | undefined
}

export class Transfer {
  readonly manifest: Manifest
  readonly #file: ManifestFile
  readonly #source: StoredFile | undefined
  readonly #store: PartStore | undefined
  readonly #lifetime: Lifetime
  readonly #pace: Pace | undefined
  /** The last operation that changes the folder. */
  #writing: Promise<unknown> = Promise.resolve()

  private constructor(
    file: ManifestFile,
    home: { readonly source?: StoredFile; readonly store?: PartStore },
    { lifetime, pace }: TransferOptions,
  ) {
    this.manifest = file.manifest
    this.#file = file
    this.#source = home.source
    this.#store = home.store
    this.#lifetime = lifetime
    this.#pace = pace
  }

  /**
   * @throws StartError `file_missing`, `file_mismatch`, `unsafe_file`, `manifest_changed`, `storage_failed`
   */
  static async open(file: ManifestFile, folder: Folder, options: TransferOptions): Promise<Transfer> {
    const staged = { ...file.manifest, digest: file.digest }
    try {
      const isSource = file.manifest.mode === 'download'
      const home = isSource
        ? { source: await openSource(folder, staged) }
        : { store: await PartStore.open(folder, staged) }
      return new Transfer(file, home, options)
    } catch (error) {
      throw startFailureOf(error)
    }
  }

  status(): TransferStatus {
    const { transfer_id, mode, size, sha256 } = this.manifest
    return {
      transfer_id,
      mode,
      manifest_digest: this.#file.digest,
      manifest_size: this.#file.size,
      size,
      sha256,
      expires_at: this.#lifetime.expiresAt,
      verified: this.#store?.isPublished ?? false,
      committed_parts: this.#store?.committed ?? [],
    }
  }

  get isOver(): boolean {
    return this.#lifetime.isOver
  }

  /** @throws PartError `not_found` */
  partOf(index: number): ManifestPart {
    const part = this.manifest.parts[index]
    if (part === undefined) throw new PartError('not_found')
    return part
  }

  async receive(index: number, body: Readable, signal: AbortSignal): Promise<PartReceived> {
    const received = this.#received().receive(index, body, { signal, pace: this.#pace })
    this.#writing = received.catch(() => {})
    return received
  }

  async finalize(signal: AbortSignal): Promise<FileVerified> {
    const mayPublish = () => !this.isOver && !signal.aborted
    const finalized = this.#received().finalize({ signal, mayPublish })
    this.#writing = finalized.catch(() => {})
    return finalized
  }

  /**
   * Checks that the file is unchanged, before the first or the last byte is sent. @throws PartError
   * `file_changed`
   */
  async requireSource(): Promise<void> {
    await this.#source?.requireUnchanged()
  }

  async send(range: Range, to: Writable, beforeLast: () => void): Promise<void> {
    await this.#source?.send(range, to, { pace: this.#pace, beforeLast })
  }

  /**
   * Waits until the bytes of a part that was cut are erased, and until a file that has its name has no staging
   * files beside it.
   */
  async close(): Promise<void> {
    await this.#writing
    await this.#source?.close()
    await this.#store?.close()
  }

  #received(): PartStore {
    if (this.#store === undefined) throw new PartError('wrong_mode')
    return this.#store
  }
}

async function openSource(
  folder: Folder,
  manifest: Manifest & { readonly digest: string },
): Promise<StoredFile> {
  const source = await StoredFile.find(folder, manifest.filename)
  if (source === undefined) throw new StartError('file_missing')
  if (await source.matches(manifest, { parts: true })) return source
  await source.close()
  throw new StartError('file_mismatch')
}

function startFailureOf(error: unknown): StartError {
  if (error instanceof StartError) return error
  if (error instanceof ManifestChangedError) return new StartError('manifest_changed', { cause: error })
  if (error instanceof PartError) {
    if (error.code === 'unsafe_file') return new StartError('unsafe_file', { cause: error })
    if (error.code === 'file_changed') return new StartError('file_mismatch', { cause: error })
  }
  return new StartError('storage_failed', { cause: error })
}
