/**
 * Reads the manifest, "a protected local JSON file".
 *
 * Protected means: a regular file of the current user with one hard link. Its mode lets neither the group nor
 * others write. Symbolic links are not followed. The file is read synchronously, which is faster at start than
 * the thread pool, and no request waits yet.
 *
 * Spec §2, Transfer manifest.
 */
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { transferLimits } from '../sdk/contract/helper/limits.ts'
import { type Manifest, parseManifest } from '../sdk/contract/helper/manifest.ts'
import { StartError } from './start-failure.ts'

export interface ManifestFile {
  readonly manifest: Manifest
  /** SHA-256 of its bytes. */
  readonly digest: string
  readonly size: number
}

/** @throws StartError `manifest_unreadable`, `manifest_too_large`, `manifest_invalid` */
export function readManifest(path: string): ManifestFile {
  const bytes = readProtected(path)
  if (!isUtf8(bytes)) throw new StartError('manifest_invalid')
  const manifest = parseManifest(bytes.toString('utf8'))
  if ('fault' in manifest) throw new StartError('manifest_invalid')
  return { manifest, digest: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
}

function readProtected(path: string): Buffer {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  let file: number | undefined
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    return readAtMost(file, protectedSize(file))
  } catch (cause) {
    throw cause instanceof StartError ? cause : new StartError('manifest_unreadable', { cause })
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** Returns the size. @throws StartError unless the file is protected. */
function protectedSize(file: number): number {
  const stats = fstatSync(file)
  const isMine = process.geteuid === undefined || stats.uid === process.geteuid()
  const isOpenToOthers = process.platform !== 'win32' && (stats.mode & 0o022) !== 0
  if (!stats.isFile() || !isMine || isOpenToOthers || stats.nlink !== 1) {
    throw new StartError('manifest_unreadable')
  }
  return stats.size
}

function readAtMost(file: number, size: number): Buffer {
  const max = transferLimits.manifestBytes
  if (size > max) throw new StartError('manifest_too_large')
  const buffer = Buffer.alloc(size)
  let length = 0
  for (let count = -1; count !== 0 && length < size; length += count) {
    count = readSync(file, buffer, length, size - length, length)
  }
  return buffer.subarray(0, length)
}
