/**
 * The manifest: "a protected local JSON file".
 *
 * Protected: a regular file of this user under one name, which nobody else may write. Reading it follows no link.
 *
 * Spec §2, Transfer manifest.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { transferLimits } from '../sdk/contract/helper/limits.ts'
import { type Manifest, parseManifest } from '../sdk/contract/helper/manifest.ts'
import { StartFailure } from './start-failure.ts'

export interface ManifestFile {
  readonly manifest: Manifest
  /** SHA-256 of its bytes. */
  readonly digest: string
  readonly size: number
}

/** @throws StartFailure `manifest_unreadable`, `manifest_too_large`, `manifest_invalid` */
export async function readManifest(path: string): Promise<ManifestFile> {
  const bytes = await readProtected(path)
  const manifest = parseManifest(decode(bytes))
  if ('fault' in manifest) throw new StartFailure('manifest_invalid')
  return { manifest, digest: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
}

async function readProtected(path: string): Promise<Buffer> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  let file: FileHandle | undefined
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    await requireProtected(file)
    return await readAtMost(file, transferLimits.manifestBytes)
  } catch (cause) {
    throw cause instanceof StartFailure ? cause : new StartFailure('manifest_unreadable', { cause })
  } finally {
    await file?.close()
  }
}

async function requireProtected(file: FileHandle): Promise<void> {
  const stats = await file.stat()
  const isMine = process.geteuid === undefined || stats.uid === process.geteuid()
  const isOpenToOthers = process.platform !== 'win32' && (stats.mode & 0o002) !== 0
  if (!stats.isFile() || !isMine || isOpenToOthers || stats.nlink !== 1) {
    throw new StartFailure('manifest_unreadable')
  }
}

async function readAtMost(file: FileHandle, max: number): Promise<Buffer> {
  const buffer = Buffer.alloc(max + 1)
  let length = 0
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length)
    length += bytesRead
    if (length > max) throw new StartFailure('manifest_too_large')
    if (bytesRead === 0) return buffer.subarray(0, length)
  }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new StartFailure('manifest_invalid', { cause })
  }
}
