/**
 * Where a received file gets its name.
 *
 * Until it is verified it waits in a folder of its own beside the destination, under names of ours. A file that has the
 * name is replaced only where that was asked for, and never seen unfinished.
 *
 * Contract §9, receipts.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Transfer } from '../contract/agent/transfers.ts'
import { storageFailed, syncFolder } from '../durable-file.ts'
import { eachBlock } from '../parts/blocks.ts'
import { isSameFile } from '../parts/folder.ts'
import { LocalError } from '../transport/failures.ts'
import type { Receiving } from './receivings.ts'

/** What the file is called until it was verified; the name of the other side is no path here. */
export const stagedName = 'file'
export const plainName = 'opened'

/**
 * Whether the very file stands at the destination: a run that ended before its receipt put it there.
 *
 * @throws LocalError `destination_exists` for any other file, before a byte is fetched
 */
export async function isThere(
  transfer: Transfer,
  destination: string,
  receiving: Receiving,
  overwrite: boolean,
): Promise<boolean> {
  // A pipe is opened without waiting for who writes to it.
  const found = await open(destination, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw storageFailed(destination, error)
    },
  )
  if (found === undefined) return false
  try {
    const isSame = transfer.encryption === 'none' ? isFile(found, transfer) : isPlain(found, receiving)
    if (await isSame) return true
  } finally {
    await found.close()
  }
  if (overwrite) return false
  throw new LocalError('destination_exists', `${destination} exists with other content`)
}

/**
 * A sealed file tells nothing of what is in it; but the one that was opened here is noted, or still there under both names.
 */
async function isPlain(file: FileHandle, receiving: Receiving): Promise<boolean> {
  const plain = await stat(join(receiving.staging, plainName), { bigint: true }).catch(() => undefined)
  const found = await file.stat({ bigint: true })
  if (plain !== undefined && isSameFile(plain, found)) return true
  return receiving.hasPublished(found)
}

async function isFile(file: FileHandle, { size, sha256 }: Transfer): Promise<boolean> {
  const stat = await file.stat()
  if (!stat.isFile() || stat.size !== size) return false
  const hash = createHash('sha256')
  await eachBlock(file, { offset: 0, size }, (block) => void hash.update(block))
  return hash.digest('hex') === sha256
}

/**
 * The folder in which the file waits. One that was given its name by a run that ended then, and was moved since, is the
 * user's: it is no staged file any more.
 *
 * @throws LocalError `storage_failed`
 */
export async function makeStaging(staging: string): Promise<void> {
  try {
    await mkdir(staging, { recursive: true, mode: 0o700 })
    const staged = join(staging, stagedName)
    const found = await lstat(staged).catch(() => undefined)
    if (found !== undefined && found.nlink > 1) await rm(staged)
  } catch (error) {
    throw storageFailed(staging, error)
  }
}

/** One name, all at once, and for good: linked where nothing may be replaced, renamed where it may. */
export async function publish(staged: string, destination: string, overwrite: boolean): Promise<void> {
  try {
    await (overwrite ? rename(staged, destination) : link(staged, destination))
    // The receipt says that the file is there, and the service then removes its own.
    await syncFolder(dirname(destination))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new LocalError('destination_exists', `${destination} exists already`, { cause: error })
    throw storageFailed(destination, error)
  }
}
