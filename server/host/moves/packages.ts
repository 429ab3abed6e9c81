/** Copies the bytes of packages into another data folder, and reads them back. */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CopyDiffersError } from '../../database/moved.ts'
import { makePrivateFolder } from '../../storage/private-folder.ts'
import { sync } from '../backups/new-file.ts'

export interface CopiedFiles {
  readonly files: number
  readonly bytes: number
}

/** Folders of packages that were removed, whose blocks are being freed. */
const removed = /\.removed$/

/** @throws CopyDiffersError, the reason of the signal, and errors of the disk */
export async function copyPackages(from: string, to: string, signal: AbortSignal): Promise<CopiedFiles> {
  if (!existsSync(from)) return { files: 0, bytes: 0 }
  makePrivateFolder(to)
  let files = 0
  let bytes = 0
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (removed.test(entry.name)) continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) {
      const inside = await copyPackages(source, target, signal)
      files += inside.files
      bytes += inside.bytes
    } else if (entry.isFile()) {
      await copyFile(source, target, signal)
      files += 1
      bytes += statSync(target).size
    }
  }
  sync(to)
  return { files, bytes }
}

async function copyFile(from: string, to: string, signal: AbortSignal): Promise<void> {
  const sent = createHash('sha256')
  const source = createReadStream(from)
  source.on('data', (chunk) => sent.update(chunk))
  await pipeline(source, createWriteStream(to, { mode: 0o600, flags: 'wx', flush: true }), { signal })
  const arrived = createHash('sha256')
  await pipeline(createReadStream(to), arrived, { signal })
  const [one, other] = [sent.digest('hex'), arrived.digest('hex')]
  if (one !== other) throw new CopyDiffersError(`${to} has sha256 ${other} in place of ${one}`)
}
