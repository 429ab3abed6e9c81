/**
 * Record of the committed parts of a staged file, stored in a file beside it.
 *
 * - The file is a header and one slot of 32 bytes per part. A slot is valid if it holds the hash of the
 *   manifest's digest, the index and the part's hash. A torn, zeroed or moved slot, or a slot of another
 *   manifest, is invalid.
 * - A slot is written in place and synced, after the part's bytes were synced. A crash can leave a part
 *   uncommitted, but never wrongly committed.
 * - If the header is unreadable, no part is committed. If it belongs to another manifest, reading it is
 *   refused.
 *
 * Spec §3, Helper upload part.
 */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { StagedManifest } from './staged-manifest.ts'

const magic = 'bridge-parts-1\n'
const headerBytes = 64
const slotBytes = 32

/** Error: the stored parts were received for another manifest with the same transfer_id. */
export class ManifestChangedError extends Error {
  override readonly name = 'ManifestChangedError'
}

export class Commitments {
  readonly #file: FileHandle
  readonly #manifest: StagedManifest

  private constructor(file: FileHandle, manifest: StagedManifest) {
    this.#file = file
    this.#manifest = manifest
  }

  /** Creates an empty record, durably. */
  static async create(file: FileHandle, manifest: StagedManifest): Promise<Commitments> {
    const made = new Commitments(file, manifest)
    await made.#reset()
    return made
  }

  /** Reads an existing record and the indices of its valid slots. @throws ManifestChangedError */
  static async read(
    file: FileHandle,
    manifest: StagedManifest,
  ): Promise<{ readonly commitments: Commitments; readonly claimed: readonly number[] }> {
    const commitments = new Commitments(file, manifest)
    return { commitments, claimed: await commitments.#claimed() }
  }

  /** Marks a part as committed, durably. */
  async commit(index: number): Promise<void> {
    await this.#write(index, this.#slot(index))
  }

  /** Marks a part as not committed, durably. It must be received again. */
  async revoke(index: number): Promise<void> {
    await this.#write(index, Buffer.alloc(slotBytes))
  }

  async #write(index: number, slot: Buffer): Promise<void> {
    await this.#file.write(slot, 0, slotBytes, headerBytes + index * slotBytes)
    await this.#file.datasync()
  }

  async #claimed(): Promise<number[]> {
    const expected = Buffer.alloc(this.#length())
    const { bytesRead } = await this.#file.read(expected, 0, expected.length, 0)
    const found = expected.subarray(0, bytesRead)
    if (!found.subarray(0, magic.length).equals(Buffer.from(magic))) {
      await this.#reset()
      return []
    }
    if (!found.subarray(0, headerBytes).equals(this.#header())) throw new ManifestChangedError()
    return this.#manifest.parts
      .map(({ index }) => index)
      .filter((index) => {
        const at = headerBytes + index * slotBytes
        return found.subarray(at, at + slotBytes).equals(this.#slot(index))
      })
  }

  async #reset(): Promise<void> {
    const blank = Buffer.alloc(this.#length())
    this.#header().copy(blank)
    await this.#file.truncate(0)
    await this.#file.write(blank, 0, blank.length, 0)
    await this.#file.sync()
  }

  #length(): number {
    return headerBytes + this.#manifest.parts.length * slotBytes
  }

  #header(): Buffer {
    return Buffer.concat([Buffer.from(magic), Buffer.from(this.#manifest.digest, 'hex')], headerBytes)
  }

  #slot(index: number): Buffer {
    const { digest, parts } = this.#manifest
    return createHash('sha256').update(`bridge-part-1\n${digest}\n${index}\n${parts[index]?.sha256}`).digest()
  }
}
