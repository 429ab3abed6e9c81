/**
 * Part store: a staged file into which parts are written at their offsets, until it is published under its
 * final name.
 *
 * States of the store:
 * - Empty: the folder holds no file of the transfer. The first part leads to staged.
 * - Staged: parts are committed one by one. A committed part is never written again. A retry is only hashed
 *   and compared. `finalize` leads to published.
 * - Published: the whole file exists under its name. `finalize` verifies it again, and parts are only hashed.
 *
 * - Opening restores the state after a crash. It hashes every part before it counts it as committed.
 * - If a part is refused or its upload breaks off, its bytes are overwritten before the caller gets the
 *   error.
 * - A part is committed by a durable record, after its bytes are durable. So a part that was answered with
 *   success survives a crash.
 * - Different parts may be received concurrently. The caller must make sure that every other operation runs
 *   alone, and that no second process uses the transfer.
 *
 * The helper, the downloading client and the package store of the node use it. Spec §2, §3.
 */

import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { FileVerified, PartReceived } from '../contract/helper/endpoints.ts'
import type { ManifestPart } from '../contract/helper/manifest.ts'
import { eachBlock, type Range } from './blocks.ts'
import { Commitments } from './committed-parts.ts'
import { erase } from './erase.ts'
import { type Folder, isSameFile } from './folder.ts'
import { syncLimiter } from './limiter.ts'
import { diskRefusal, PartError } from './part-error.ts'
import { isPublished, isWhole, type PublishOptions, publish } from './publish.ts'
import { fileSink, type Measured, type ReceiveOptions, receive } from './receive.ts'
import type { StagedManifest } from './staged-manifest.ts'

export type PartOptions = Pick<ReceiveOptions, 'signal' | 'pace' | 'onBytes'>

export interface StoreOptions {
  /** Returns the free bytes of the disk that are reserved for other files. */
  readonly spokenFor?: (() => Promise<number>) | undefined
  /** Called if there is too little free space. It may free some. */
  readonly moreRoom?: (() => Promise<void>) | undefined
  /** True if the caller removes the folder of an expired transfer, so no part that it cut is erased. */
  readonly removesExpired?: boolean
}

/** Space beyond the bytes of the file, for the record of parts and the file system's metadata. */
const spaceForMetadata = 64 * 1024

export class PartStore {
  readonly #folder: Folder
  readonly #manifest: StagedManifest
  readonly #options: StoreOptions
  readonly #committed = new Set<number>()
  #making: Promise<unknown> = Promise.resolve()
  #staged: FileHandle | undefined
  #record: FileHandle | undefined
  #commitments: Commitments | undefined
  #isPublished = false
  /** Set if a sync of the whole file failed. The content of the disk is unknown until a restart. */
  #isBroken = false

  private constructor(folder: Folder, manifest: StagedManifest, options: StoreOptions) {
    this.#folder = folder
    this.#manifest = manifest
    this.#options = options
  }

  /**
   * Opens the store and verifies what the folder holds of the transfer.
   *
   * @throws PartError `unsafe_file`, `storage_failed`; ManifestChangedError
   */
  static async open(
    folder: Folder,
    manifest: StagedManifest,
    options: StoreOptions = {},
  ): Promise<PartStore> {
    const store = new PartStore(folder, manifest, options)
    try {
      await store.#adopt()
      return store
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /**
   * Returns the names of a transfer's staging files. No manifest can name them, since it may not hold two
   * dots in a row.
   */
  static namesOf(transferId: string): { readonly staged: string; readonly record: string } {
    return { staged: `.bridge-${transferId}..staged`, record: `.bridge-${transferId}..parts` }
  }

  get committed(): readonly number[] {
    return [...this.#committed].sort((a, b) => a - b)
  }

  /** True if the whole file is verified and published. */
  get isPublished(): boolean {
    return this.#isPublished
  }

  /** True if the store is staged or published. */
  get hasBegun(): boolean {
    return this.#isPublished || this.#staged !== undefined
  }

  /**
   * Returns the bytes that the file still needs on the disk. The staged file is sparse where parts are
   * missing.
   */
  async missingBytes(): Promise<number> {
    if (this.#isPublished) return 0
    const onDisk = ((await this.#staged?.stat())?.blocks ?? 0) * 512
    return Math.max(0, this.#manifest.size - onDisk)
  }

  /**
   * Receives a part, hashes it while it streams in, and commits it if it matches the manifest. If the part is
   * already committed, the same bytes are answered as a duplicate.
   *
   * @throws PartError `hash_mismatch`, `length_mismatch`, `too_slow`, `insufficient_space`; `part_conflict`
   * if the part is
   *   already committed and these bytes differ.
   */
  async receive(index: number, body: Readable, options: PartOptions = {}): Promise<PartReceived> {
    const part = this.#partOf(index)
    this.#requireSound()
    const duplicate = this.#isPublished || this.#committed.has(index)
    const file = duplicate ? undefined : await this.#staging()
    const measured =
      file === undefined
        ? await receive(body, { ...options, size: part.size })
        : await this.#fill(file, part, body, options)
    if (measured.sha256 !== part.sha256) throw new PartError('part_conflict')
    return { index, ...measured, duplicate }
  }

  /** Writes and commits a part. After a failure it erases the bytes that arrived. */
  async #fill(file: FileHandle, part: ManifestPart, body: Readable, options: PartOptions): Promise<Measured> {
    const { offset, size, index } = part
    let came = 0
    const onBytes = (count: number) => {
      came += count
      options.onBytes?.(count)
    }
    try {
      const measured = await receive(body, { ...options, size, into: fileSink(file, offset), onBytes })
      if (measured.sha256 !== part.sha256) throw new PartError('hash_mismatch')
      await this.#commit(index, file)
      return measured
    } catch (error) {
      const isExpired = error instanceof PartError && error.code === 'expired'
      if (!(isExpired && this.#options.removesExpired)) await this.#erase(file, { offset, size: came })
      throw error
    }
  }

  /**
   * @throws PartError if erasing failed. This error then replaces the refusal, which promises that nothing
   * was kept.
   */
  async #erase(file: FileHandle, range: Range): Promise<void> {
    await erase(file, range).catch((error: unknown) => {
      throw diskRefusal(error)
    })
  }

  /**
   * Verifies the whole file and publishes it. If it is already published, verifies it again.
   *
   * @throws PartError `parts_missing`, also if a committed part was damaged since, or `hash_mismatch` if all parts
   *   match but the whole file does not. Also `destination_exists`, `file_changed` or `expired`.
   */
  async finalize(options: PublishOptions = {}): Promise<FileVerified> {
    const { size, sha256, filename } = this.#manifest
    this.#requireSound()
    if (this.#isPublished) await this.#requireStillThere()
    else {
      const staged = await this.#completeFile()
      const checked = await staged.stat({ bigint: true })
      if (!(await isWhole(staged, this.#manifest, options.signal))) await this.#refuseParts(staged)
      const names = { staged: this.#names.staged, filename }
      await publish(this.#folder, names, { staged, checked, manifest: this.#manifest }, options).catch(
        (error: unknown) => {
          this.#isBroken = error instanceof PartError && error.code === 'storage_failed'
          throw error
        },
      )
      this.#isPublished = true
      await this.#tidy()
    }
    return { verified: true, size, sha256 }
  }

  /** Removes the staging files. A published file stays. */
  async discard(): Promise<void> {
    await this.#tidy()
    this.#committed.clear()
  }

  async close(): Promise<void> {
    await this.#staged?.close()
    await this.#record?.close()
    this.#staged = undefined
    this.#record = undefined
    this.#commitments = undefined
  }

  get #names() {
    return PartStore.namesOf(this.#manifest.transfer_id)
  }

  #partOf(index: number): ManifestPart {
    const part = this.#manifest.parts[index]
    if (part === undefined) throw new PartError('not_found')
    return part
  }

  #requireSound(): void {
    if (this.#isBroken) throw new PartError('storage_failed')
  }

  async #adopt(): Promise<void> {
    await this.#removeSecondName()
    if (await isPublished(this.#folder, this.#manifest)) {
      this.#isPublished = true
      for (const { index } of this.#manifest.parts) this.#committed.add(index)
      return this.#tidy()
    }
    const { staged, record } = this.#names
    this.#staged = await this.#folder.find(staged, 'write')
    this.#record = await this.#folder.find(record, 'write')
    if (this.#record === undefined) return
    const { commitments, claimed } = await Commitments.read(this.#record, this.#manifest)
    this.#commitments = commitments
    for (const index of claimed) {
      if (await this.#isRight(this.#partOf(index))) this.#committed.add(index)
      else await commitments.revoke(index)
    }
  }

  /**
   * Removes the staged name after a crash between publishing and its removal, when both names refer to the
   * published file.
   */
  async #removeSecondName(): Promise<void> {
    const staged = await this.#folder.identityOf(this.#names.staged)
    const named = await this.#folder.identityOf(this.#manifest.filename)
    if (staged === undefined || named === undefined || !isSameFile(staged, named)) return
    if (staged.isFile() && staged.nlink === 2n) await this.#folder.remove(this.#names.staged)
  }

  async #isRight({ offset, size, sha256 }: ManifestPart): Promise<boolean> {
    const staged = this.#staged
    if (staged === undefined || (await staged.stat()).size < offset + size) return false
    const hash = createHash('sha256')
    await eachBlock(staged, { offset, size }, (block) => void hash.update(block))
    return hash.digest('hex') === sha256
  }

  /** Returns the staged file. Concurrent first parts create it once. */
  #staging(): Promise<FileHandle> {
    const made = this.#making.then(() => this.#stagedFile())
    this.#making = made.catch(() => {})
    return made
  }

  /** Creates the staged file if needed, with the full length, after checking the free space. */
  async #stagedFile(): Promise<FileHandle> {
    try {
      await this.#requireSpace()
      this.#staged ??= await this.#folder.create(this.#names.staged)
      if ((await this.#staged.stat()).size !== this.#manifest.size) {
        await this.#staged.truncate(this.#manifest.size)
      }
      if (this.#commitments === undefined) await this.#beginRecord()
      return this.#staged
    } catch (error) {
      throw diskRefusal(error)
    }
  }

  async #beginRecord(): Promise<void> {
    const { record } = this.#names
    this.#record = await this.#folder.create(record)
    try {
      this.#commitments = await Commitments.create(this.#record, this.#manifest)
      await this.#folder.sync()
    } catch (error) {
      await this.#record.close()
      this.#record = undefined
      this.#commitments = undefined
      await this.#folder.remove(record)
      throw error
    }
  }

  /** "free space checked before writes": requires space for all bytes that are not on the disk yet. */
  async #requireSpace(): Promise<void> {
    if (await this.#hasSpace()) return
    await this.#options.moreRoom?.()
    if (!(await this.#hasSpace())) throw new PartError('insufficient_space')
  }

  async #hasSpace(): Promise<boolean> {
    const spokenFor = (await this.#options.spokenFor?.()) ?? 0
    const needed = (await this.missingBytes()) + spaceForMetadata + spokenFor
    return (await this.#folder.freeBytes()) >= needed
  }

  async #commit(index: number, file: FileHandle): Promise<void> {
    try {
      await syncLimiter.take(() => file.datasync())
      await this.#commitments?.commit(index)
    } catch (error) {
      // The record may have reached the disk despite the error. Opening hashes each part before it counts as committed.
      await this.#commitments?.revoke(index).catch(() => {})
      throw diskRefusal(error)
    }
    this.#committed.add(index)
  }

  async #completeFile(): Promise<FileHandle> {
    if (this.#staged === undefined || this.#committed.size < this.#manifest.parts.length) {
      throw new PartError('parts_missing')
    }
    // Bytes behind the last part belong to no part.
    await this.#staged.truncate(this.#manifest.size)
    return this.#staged
  }

  /**
   * Finds and revokes the damaged parts after the whole file failed verification, so that they can be sent
   * again.
   */
  async #refuseParts(staged: FileHandle): Promise<never> {
    for (const part of this.#manifest.parts) {
      if (await this.#isRight(part)) continue
      this.#committed.delete(part.index)
      await this.#commitments?.revoke(part.index)
    }
    if ((await staged.stat()).size !== this.#manifest.size) await staged.truncate(this.#manifest.size)
    throw new PartError(
      this.committed.length < this.#manifest.parts.length ? 'parts_missing' : 'hash_mismatch',
    )
  }

  async #requireStillThere(): Promise<void> {
    if (!(await isPublished(this.#folder, this.#manifest))) throw new PartError('file_changed')
    await this.#folder.sync()
  }

  async #tidy(): Promise<void> {
    await this.close()
    const { staged, record } = this.#names
    await this.#folder.remove(staged)
    await this.#folder.remove(record)
    await this.#folder.sync()
  }
}
