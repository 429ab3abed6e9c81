/**
 * The part store: one staged file to which parts are written at their offsets, until it is published under its name.
 *
 * States:
 * - empty: nothing of the transfer is in the folder. Leaves by the first part.
 * - staged: parts are committed one by one. A part that is committed is never written again: a retry is only measured.
 *   Leaves by `finalize`.
 * - published: the file is there, whole. `finalize` checks it again; parts are only measured.
 *
 * - Opening finds the state that a crash left, and hashes every part before it counts as committed.
 * - Bytes of a part that is refused, or breaks off, are overwritten before the caller hears of it.
 * - A part is committed by a synced record after its bytes are synced; whoever was answered finds it after a crash.
 * - Different parts may come at the same time; everything else is alone. The caller sees to it, and that no second process
 *   has the transfer.
 *
 * It serves the helper, the client that downloads, and the package store of the service. Spec §2, §3.
 */

import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { FileVerified, PartReceived } from '../contract/helper/endpoints.ts'
import type { ManifestPart } from '../contract/helper/manifest.ts'
import { eachBlock, type Range } from './blocks.ts'
import { Commitments } from './commitments.ts'
import { erase } from './erase.ts'
import { type Folder, isSameFile } from './folder.ts'
import { syncLimiter } from './limiter.ts'
import { diskRefusal, PartError } from './part-error.ts'
import { isPublished, isWhole, type PublishOptions, publish } from './publish.ts'
import { type Measured, type ReceiveOptions, receive } from './receive.ts'
import type { StagedManifest } from './staged-manifest.ts'

export type PartOptions = Pick<ReceiveOptions, 'signal' | 'pace' | 'onBytes'>

export interface StoreOptions {
  /** Free bytes of the disk that are not for this file. */
  readonly spokenFor?: (() => Promise<number>) | undefined
  /** Waited for when there is too little room: afterwards there may be more. */
  readonly moreRoom?: (() => Promise<void>) | undefined
}

/** Beyond the bytes of the file: the record of parts, and what a file system takes for itself. */
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
  /** A sync of the whole failed: what the disk holds is known again only after a restart. */
  #isBroken = false

  private constructor(folder: Folder, manifest: StagedManifest, options: StoreOptions) {
    this.#folder = folder
    this.#manifest = manifest
    this.#options = options
  }

  /** What the folder holds of the transfer, checked. @throws PartError `unsafe_file`, `storage_failed`; ManifestChangedError */
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

  /** The names that a transfer has in the folder beside its file's. Two dots in a row: no manifest can name them. */
  static namesOf(transferId: string): { readonly staged: string; readonly record: string } {
    return { staged: `.bridge-${transferId}..staged`, record: `.bridge-${transferId}..parts` }
  }

  get committed(): readonly number[] {
    return [...this.#committed].sort((a, b) => a - b)
  }

  /** Whether the whole file is published and was verified. */
  get isPublished(): boolean {
    return this.#isPublished
  }

  /** Whether there is a file to which parts are written, or were. */
  get hasBegun(): boolean {
    return this.#isPublished || this.#staged !== undefined
  }

  /** What the file still takes of the disk: the staged file has holes where parts are missing. */
  async missingBytes(): Promise<number> {
    if (this.#isPublished) return 0
    const onDisk = ((await this.#staged?.stat())?.blocks ?? 0) * 512
    return Math.max(0, this.#manifest.size - onDisk)
  }

  /**
   * Measure a part while it streams in, and commit it when it is the one that the manifest names.
   *
   * @throws PartError `hash_mismatch`, `length_mismatch`, `too_slow`, `insufficient_space`; `part_conflict` when the part is
   *   committed already and these are other bytes. The same bytes again are no error but a duplicate.
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

  /** The part is committed, or nothing of what came is left. */
  async #fill(file: FileHandle, part: ManifestPart, body: Readable, options: PartOptions): Promise<Measured> {
    const { offset, size, index } = part
    let came = 0
    const onBytes = (count: number) => {
      came += count
      options.onBytes?.(count)
    }
    try {
      const measured = await receive(body, { ...options, size, into: { file, offset }, onBytes })
      if (measured.sha256 !== part.sha256) throw new PartError('hash_mismatch')
      await this.#commit(index, file)
      return measured
    } catch (error) {
      // The end of the whole transfer refuses no part: its folder goes, or waits for the next helper.
      if (!(error instanceof PartError && error.code === 'expired'))
        await this.#erase(file, { offset, size: came })
      throw error
    }
  }

  /** @throws PartError when it could not be done: then nobody may be told that nothing was kept. */
  async #erase(file: FileHandle, range: Range): Promise<void> {
    await erase(file, range).catch((error: unknown) => {
      throw diskRefusal(error)
    })
  }

  /**
   * Check the whole and publish it; once published, check it again.
   *
   * @throws PartError `parts_missing`, also for parts that went bad since; `hash_mismatch` when all parts are right and the
   *   whole is not; `destination_exists`; `file_changed`; `expired`.
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

  /** Removes what was staged; a published file stays. */
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

  /** A crash came between the link and the removal of the staged name: both mean the published file. */
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

  /** Two parts that come first at once make one file. */
  #staging(): Promise<FileHandle> {
    const made = this.#making.then(() => this.#stagedFile())
    this.#making = made.catch(() => {})
    return made
  }

  /** The staged file, made and given room for what is missing. */
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

  /** "free space checked before writes": room for all that is not on the disk yet. */
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
      // It may have reached the disk all the same; a start hashes it before it counts.
      await this.#commitments?.revoke(index).catch(() => {})
      throw diskRefusal(error)
    }
    this.#committed.add(index)
  }

  async #completeFile(): Promise<FileHandle> {
    if (this.#staged === undefined || this.#committed.size < this.#manifest.parts.length) {
      throw new PartError('parts_missing')
    }
    // What was added behind the last part is nobody's.
    await this.#staged.truncate(this.#manifest.size)
    return this.#staged
  }

  /** The whole is wrong: find the parts that are, so that they can be sent again. */
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
