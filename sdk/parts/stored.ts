/**
 * Stored file: verified against its manifest once, then sent any number of times without hashing it again.
 *
 * - It is refused if its stat (size, times, inode) changed since the verification.
 * - The stat is compared again before the last block is sent. So a reader never gets a complete answer with
 *   other bytes.
 *
 * Spec §4.5: "the exact file", "the exact byte range of the part".
 */
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { blockBytes, eachBlock, type Range } from './blocks.ts'
import { type Folder, isSameFile } from './folder.ts'
import { PartError } from './part-error.ts'
import { type Pace, usualPace } from './receive.ts'
import type { StagedManifest } from './staged-manifest.ts'

export interface SendOptions {
  readonly pace?: Pace | undefined
  /** Aborts the sending, even while the reader is stalled. Its reason must be a PartError. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called before the last block is sent, so that work which waits for this file can start when the reader
   * has all bytes.
   */
  readonly beforeLast?: (() => void) | undefined
}

export class StoredFile {
  readonly #file: FileHandle
  readonly #identity: BigIntStats

  private constructor(file: FileHandle, identity: BigIntStats) {
    this.#file = file
    this.#identity = identity
  }

  /** @throws PartError `unsafe_file` for a link, a special file, or the file of another user. */
  static async find(folder: Folder, name: string): Promise<StoredFile | undefined> {
    const file = await folder.find(name, 'read')
    return file && new StoredFile(file, await file.stat({ bigint: true }))
  }

  /** Returns true if length and hash match the manifest; with `parts`, also the hash of each part. */
  async matches(manifest: StagedManifest, { parts = false } = {}): Promise<boolean> {
    if (this.#identity.size !== BigInt(manifest.size)) return false
    const isIt = await hasHashes(this.#file, manifest, parts && manifest.parts.length > 1)
    return isIt && (await this.#isUnchanged())
  }

  /** @throws PartError `file_changed` */
  async requireUnchanged(): Promise<void> {
    if (!(await this.#isUnchanged())) throw new PartError('file_changed')
  }

  /**
   * Sends a range to a reader, which must take at least 64 KiB in 10 s.
   *
   * @throws PartError `file_changed`, `too_slow`, the signal's reason
   */
  async send(
    range: Range,
    to: Writable,
    { pace = usualPace, signal, beforeLast }: SendOptions = {},
  ): Promise<void> {
    signal?.throwIfAborted()
    await this.requireUnchanged()
    const reader = new Reader(to, pace, signal)
    await eachBlock(this.#file, range, async (block, isLast) => {
      if (isLast) {
        await this.requireUnchanged()
        beforeLast?.()
      }
      await reader.take(block)
    })
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  /** A write, a truncation, a rename, a removal and a second name all change one of these. */
  async #isUnchanged(): Promise<boolean> {
    const now = await this.#file.stat({ bigint: true })
    const { size, mtimeNs, ctimeNs } = this.#identity
    return (
      isSameFile(now, this.#identity) &&
      now.size === size &&
      now.mtimeNs === mtimeNs &&
      now.ctimeNs === ctimeNs
    )
  }
}

/** Reads the file once and compares its hash and, with `withParts`, the hash of every part. */
async function hasHashes(file: FileHandle, manifest: StagedManifest, withParts: boolean): Promise<boolean> {
  const whole = createHash('sha256')
  if (!withParts) {
    await eachBlock(file, { offset: 0, size: manifest.size }, (block) => void whole.update(block))
    return whole.digest('hex') === manifest.sha256
  }
  for (const { offset, size, sha256 } of manifest.parts) {
    const part = createHash('sha256')
    await eachBlock(file, { offset, size }, (block) => {
      whole.update(block)
      part.update(block)
    })
    if (part.digest('hex') !== sha256) return false
  }
  return whole.digest('hex') === manifest.sha256
}

/**
 * Writer to a connection with a time limit per piece. A slow reader gets small pieces, which make its
 * progress measurable.
 */
export class Reader {
  readonly #to: Writable
  readonly #pace: Pace
  readonly #signal: AbortSignal | undefined
  #isSlow = false

  constructor(to: Writable, pace: Pace, signal: AbortSignal | undefined) {
    this.#to = to
    this.#pace = pace
    this.#signal = signal
  }

  async take(block: Buffer): Promise<void> {
    for (let at = 0; at < block.length; ) {
      const piece = block.subarray(at, at + (this.#isSlow ? this.#pace.progressBytes : blockBytes))
      // The reader of a large piece may turn out to be slow, so it gets three times the limit.
      await this.#flush(piece, this.#isSlow ? this.#pace.progressMs : 3 * this.#pace.progressMs)
      at += piece.length
    }
  }

  #flush(piece: Buffer, ms: number): Promise<void> {
    this.#isSlow = false
    const signal = this.#signal
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const slow = setTimeout(() => {
        this.#isSlow = true
      }, slowMs)
      const settle = (error?: unknown): void => {
        clearTimeout(slow)
        clearTimeout(timer)
        this.#to.off('close', onClose)
        signal?.removeEventListener('abort', onAbort)
        if (error === undefined || error === null) resolve()
        else reject(error)
      }
      const onClose = (): void => settle(new PartError('too_slow'))
      const onAbort = (): void => settle(signal?.reason)
      const timer = setTimeout(onClose, ms)
      this.#to.once('close', onClose)
      signal?.addEventListener('abort', onAbort)
      this.#to.write(piece, settle)
    })
  }
}

const slowMs = 100
