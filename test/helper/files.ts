/** Files, manifests and folders for helpers, removed at the end. */
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Manifest, manifestText, type TransferMode } from '../../sdk/contract/helper/manifest.ts'

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** Returns a manifest of these bytes, in parts of `partSize`. */
export function manifestOf(
  bytes: Buffer,
  {
    mode,
    partSize = 1000,
    transferId = randomBytes(8).toString('hex'),
    filename = 'payload.bin',
  }: ManifestOptions,
): Manifest {
  const count = Math.max(1, Math.ceil(bytes.length / partSize))
  const parts = Array.from({ length: count }, (_, index) => {
    const part = bytes.subarray(index * partSize, (index + 1) * partSize)
    return { index, offset: index * partSize, size: part.length, sha256: sha256(part) }
  })
  return {
    version: '1',
    transfer_id: transferId,
    mode,
    filename,
    size: bytes.length,
    sha256: sha256(bytes),
    parts,
  }
}

export interface ManifestOptions {
  readonly mode: TransferMode
  readonly partSize?: number
  readonly transferId?: string
  readonly filename?: string
}

export const partOf = (bytes: Buffer, manifest: Manifest, index: number): Buffer => {
  const { offset = 0, size = 0 } = manifest.parts[index] ?? {}
  return bytes.subarray(offset, offset + size)
}

/** A folder with a staging root inside. */
export class Place {
  readonly folder: string
  readonly root: string

  constructor(uid?: number) {
    this.folder = mkdtempSync(join(tmpdir(), 'helper-'))
    this.root = join(this.folder, 'root')
    mkdirSync(this.root, { mode: 0o700 })
    if (uid === undefined) return
    chownSync(this.folder, uid, uid)
    chownSync(this.root, uid, uid)
  }

  inRoot(name: string): string {
    return join(this.root, name)
  }

  /** Writes a manifest, or any other text instead. */
  manifest(content: Manifest | string, uid?: number): string {
    const path = join(this.folder, 'manifest.json')
    rmSync(path, { force: true })
    writeFileSync(path, typeof content === 'string' ? content : manifestText(content), { mode: 0o600 })
    chmodSync(path, 0o600)
    if (uid !== undefined) chownSync(path, uid, uid)
    return path
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export const freshToken = (): string => randomBytes(32).toString('base64url')
