/**
 * Creates the manifest of a file: its length and hash, and those of its parts. The file is read once.
 *
 * Spec §2, Transfer manifest.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { transferLimits } from '../../contract/helper/limits.ts'
import {
  filenameRule,
  isFilename,
  isTransferId,
  type Manifest,
  type ManifestPart,
  manifestText,
  type TransferMode,
} from '../../contract/helper/manifest.ts'
import { eachBlock } from '../../parts/blocks.ts'
import { sourceFailed, storageFailed } from '../../storage/durable-file.ts'
import { LocalError } from '../../transport/failures.ts'

/** Options of a manifest. */
export interface DescribeOptions {
  readonly transferId: string
  readonly mode: TransferMode
  /** The name that the file has on the other side. */
  readonly filename: string
  /** Bytes of each part but the last. By default chosen by the size of the file. */
  readonly partSize?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: { readonly bytes: number; readonly total: number }) => void) | undefined
}

const MiB = 1024 * 1024

/**
 * Returns the default part size: a sixty-fourth of the file, at least 8 MiB and at most 96 MiB.
 *
 * A broken connection costs at most one part. Each part costs a signature, a sync and two commits, so the
 * parts of a large file are larger.
 */
export const usualPartSize = (size: number): number =>
  Math.min(transferLimits.partBytes, Math.max(8 * MiB, Math.ceil(size / 64 / MiB) * MiB))

/**
 * Checks a name before it becomes a path.
 *
 * @throws LocalError `not_sendable` for a name that no manifest may have
 */
export function requireFilename(name: string): void {
  if (!isFilename(name))
    throw refused(`the name must be 1 to ${transferLimits.filenameChars} characters: ${filenameRule}`)
}

/**
 * Returns the manifest of a file as it is now.
 *
 * @throws LocalError `not_sendable` for a name, an id or a part size that no manifest may have, and if the
 * path is no regular file or cannot be opened. LocalError `storage_failed` if reading fails.
 */
export async function describeFile(path: string, options: DescribeOptions): Promise<Manifest> {
  const { transferId, mode, filename } = options
  requireFilename(filename)
  if (!isTransferId(transferId)) throw refused('the transfer id is 1 to 128 of A-Z, a-z, 0-9, _ and -')
  const file = await openFile(path)
  try {
    const { size } = await file.stat()
    const sizes = partSizes(size, options.partSize ?? usualPartSize(size))
    const { parts, sha256 } = await measure(file, size, sizes, options)
    return { version: '1', transfer_id: transferId, mode, filename, size, sha256, parts }
  } catch (error) {
    throw error instanceof LocalError || options.signal?.aborted ? error : storageFailed(path, error)
  } finally {
    await file.close()
  }
}

/** Returns the SHA-256 of the manifest's text, by which both sides compare their manifests. */
export const manifestDigest = (manifest: Manifest): string =>
  createHash('sha256').update(manifestText(manifest)).digest('hex')

async function openFile(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    if ((await file.stat()).isFile()) return file
    await file.close()
  } catch (error) {
    throw sourceFailed(path, error)
  }
  throw refused(`${path} is not a regular file`)
}

function partSizes(size: number, partSize: number): number[] {
  const count = Math.max(1, Math.ceil(size / partSize))
  if (partSize > transferLimits.partBytes || count > transferLimits.parts) {
    const { parts, partBytes } = transferLimits
    throw refused(
      `${size} bytes need ${count} parts of ${partSize}; there may be ${parts} of at most ${partBytes}`,
    )
  }
  return Array.from({ length: count }, (_, index) => Math.min(partSize, size - index * partSize))
}

async function measure(
  file: FileHandle,
  total: number,
  sizes: readonly number[],
  { signal, onProgress }: DescribeOptions,
): Promise<{ parts: ManifestPart[]; sha256: string }> {
  const whole = createHash('sha256')
  const parts: ManifestPart[] = []
  let offset = 0
  for (const [index, size] of sizes.entries()) {
    const hash = createHash('sha256')
    await eachBlock(file, { offset, size }, (block) => {
      signal?.throwIfAborted()
      hash.update(block)
      // A single part has the hash of the whole file, which is then computed once.
      if (sizes.length > 1) whole.update(block)
    })
    parts.push({ index, offset, size, sha256: hash.digest('hex') })
    offset += size
    onProgress?.({ bytes: offset, total })
  }
  return { parts, sha256: sizes.length > 1 ? whole.digest('hex') : (parts[0]?.sha256 ?? '') }
}

const refused = (words: string): LocalError => new LocalError('not_sendable', words)
