/**
 * Makes a backup: one file with the complete database, made while the server runs.
 *
 * - The copy is consistent, checked page by page and synced, has mode 0600, and gets its name only after all
 *   of that. It never replaces another file.
 * - The backup contains the whole database: messages, tasks, agents, credentials as public keys and hashes,
 *   the server id.
 * - It does not contain the envelope key: that is stored outside the database so that a stolen copy does not
 *   reveal the secrets encrypted in it. These secrets are valid for half an hour at most.
 * - It does not contain the bytes of packages, which stay on the node for some days only, nor `config.json`,
 *   which belongs to the host.
 * - Its default name holds the time of the backup and nothing else.
 *
 * Contract §12.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { requireHere } from '../../database/moved.ts'
import { movedOf } from '../../database/sqlite/moving.ts'
import { openDatabase } from '../../database/sqlite/open.ts'
import { bytesInFile } from '../../database/sqlite/scrub.ts'
import { databasePath, NotInitialisedError, requireNoRestore } from '../../storage/data-folder.ts'
import { checkCopy, leaveOutDeleted } from './checking.ts'
import { type CopyOptions, copySnapshot } from './copying.ts'
import { NoSpaceError } from './errors.ts'
import { makeNewFile, removeLeftovers } from './new-file.ts'

export interface BackupOptions
  extends Pick<CopyOptions, 'signal' | 'onProgress' | 'maxLogBytes' | 'pagesPerStep'> {
  readonly data: string
  /** A path that does not exist yet, or an existing folder. */
  readonly destination: string
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
}

export interface BackupReport {
  readonly file: string
  readonly bytes: number
  readonly sha256: string
  readonly server_id: string
  readonly migration: number
  readonly taken_at: string
  /** Leftover files of killed backups in this folder, which were deleted. */
  readonly removed: readonly string[]
}

/**
 * Makes a backup. If it fails, it leaves no file behind.
 *
 * @throws NotInitialisedError, MovedError, DestinationExistsError, PathMissingError, NoSpaceError,
 * BackupInterruptedError, DamagedDatabaseError, the reason of the signal
 */
export async function backUp(options: BackupOptions): Promise<BackupReport> {
  const { data, clock, signal } = options
  const path = databasePath(data)
  requireNoRestore(data)
  if (!existsSync(path)) throw new NotInitialisedError(`${data} holds no installation`)
  requireHere(movedOf(data), data)
  const taken = clock()
  const file = fileFor(options.destination, taken)
  const made = makeNewFile(file, options.random)
  try {
    const removed = removeLeftovers(dirname(file))
    await copy(path, made.partial, options)
    const checked = checkCopy(made.partial, `the copy of ${path}`)
    leaveOutDeleted(made.partial, `the copy of ${path}`)
    const sha256 = await sha256Of(made.partial, signal)
    made.publish()
    return { file, bytes: statSync(file).size, sha256, ...checked, taken_at: taken.toISOString(), removed }
  } finally {
    made.discard()
  }
}

async function copy(path: string, to: string, options: BackupOptions): Promise<void> {
  const source = openDatabase(path, { readonly: true })
  try {
    requireSpace(dirname(to), bytesInFile(source))
    await copySnapshot(source, { ...options, path, to })
  } finally {
    source.close()
  }
}

/** Returns the destination, or `bridge-20261121T080501Z.db` in it if it is a folder. */
function fileFor(destination: string, taken: Date): string {
  const path = resolve(destination)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return path
  return join(path, `bridge-${taken.toISOString().replace(/[-:]|\.\d+/g, '')}.db`)
}

/** @throws NoSpaceError */
export function requireSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize >= bytes) return
  const mib = (each: number) => Math.ceil(each / 1024 / 1024)
  throw new NoSpaceError(
    `${folder} has ${mib(bavail * bsize)} MiB free, and the copy needs ${mib(bytes)} MiB`,
  )
}

async function sha256Of(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash, { signal })
  return hash.digest('hex')
}
