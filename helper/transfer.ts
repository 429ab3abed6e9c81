/**
 * The one transfer that a helper serves: its manifest, and the file or the part store behind it.
 *
 * - download: the file was checked against the manifest at the start and stays open.
 * - upload: parts are committed to the store, and the whole is published at the end.
 *
 * Spec §3, §4.5.
 */
import type { Readable, Writable } from 'node:stream'
import type { FileVerified, PartReceived, TransferStatus } from '../sdk/contract/helper/endpoints.ts'
import type { Manifest, ManifestPart } from '../sdk/contract/helper/manifest.ts'
import type { Range } from '../sdk/parts/blocks.ts'
import { ManifestChanged } from '../sdk/parts/commitments.ts'
import type { Folder } from '../sdk/parts/folder.ts'
import { PartStore } from '../sdk/parts/part-store.ts'
import type { Pace } from '../sdk/parts/receive.ts'
import { Refusal } from '../sdk/parts/part-error.ts'
import { StoredFile } from '../sdk/parts/stored.ts'
import type { Lifetime } from './lifetime.ts'
import type { ManifestFile } from './manifest-file.ts'
import { StartFailure } from './start-failure.ts'

export interface TransferOptions {
  readonly lifetime: Lifetime
  /** How slow a body may be. */
  readonly pace?: Pace | undefined
}

export class Transfer {
  readonly manifest: Manifest
  readonly #file: ManifestFile
  readonly #source: StoredFile | undefined
  readonly #store: PartStore | undefined
  readonly #lifetime: Lifetime
  readonly #pace: Pace | undefined

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

  /** @throws StartFailure `file_missing`, `file_mismatch`, `unsafe_file`, `manifest_changed`, `storage_failed` */
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

  /** @throws Refusal `not_found` */
  partOf(index: number): ManifestPart {
    const part = this.manifest.parts[index]
    if (part === undefined) throw new Refusal('not_found')
    return part
  }

  async receive(index: number, body: Readable, signal: AbortSignal): Promise<PartReceived> {
    return this.#received().receive(index, body, { signal, pace: this.#pace })
  }

  async finalize(signal: AbortSignal): Promise<FileVerified> {
    return this.#received().finalize({ signal, mayPublish: () => !this.isOver && !signal.aborted })
  }

  /** @throws Refusal `file_changed` before a byte has left, or before the last one does. */
  async requireSource(): Promise<void> {
    await this.#source?.requireUnchanged()
  }

  async send(range: Range, to: Writable, beforeLast: () => void): Promise<void> {
    await this.#source?.send(range, to, { pace: this.#pace, beforeLast })
  }

  async close(): Promise<void> {
    await this.#source?.close()
    await this.#store?.close()
  }

  #received(): PartStore {
    if (this.#store === undefined) throw new Refusal('wrong_mode')
    return this.#store
  }
}

async function openSource(
  folder: Folder,
  manifest: Manifest & { readonly digest: string },
): Promise<StoredFile> {
  const source = await StoredFile.find(folder, manifest.filename)
  if (source === undefined) throw new StartFailure('file_missing')
  if (await source.matches(manifest, { parts: true })) return source
  await source.close()
  throw new StartFailure('file_mismatch')
}

function startFailureOf(error: unknown): StartFailure {
  if (error instanceof StartFailure) return error
  if (error instanceof ManifestChanged) return new StartFailure('manifest_changed', { cause: error })
  if (error instanceof Refusal) {
    if (error.code === 'unsafe_file') return new StartFailure('unsafe_file', { cause: error })
    if (error.code === 'file_changed') return new StartFailure('file_mismatch', { cause: error })
  }
  return new StartFailure('storage_failed', { cause: error })
}
