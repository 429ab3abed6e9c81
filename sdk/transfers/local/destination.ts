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
import { type FileHandle, link, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Transfer } from '../../contract/agent/transfers.ts'
import { eachBlock } from '../../parts/blocks.ts'
import { Folder, isSameFile } from '../../parts/folder.ts'
import { storageFailed, syncFolder } from '../../storage/durable-file.ts'
import { LocalError } from '../../transport/failures.ts'
import type { ReceivingNote } from './receiving-note.ts'

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
  receiving: ReceivingNote,
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
async function isPlain(file: FileHandle, receiving: ReceivingNote): Promise<boolean> {
  const found = await file.stat({ bigint: true })
  const staging = await privateFolder(receiving.staging).catch(() => undefined)
  const plain = await staging?.identityOf(plainName)
  await staging?.close()
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
 * The folder in which the file waits, made and opened: whatever takes its place while the file is fetched is not asked for
 * it. One that was given its name by a run that ended then, and was moved since, is the user's: it is no staged file any more.
 *
 * @throws LocalError `storage_failed`
 */
export async function makeStaging(path: string): Promise<Folder> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
    const staging = await privateFolder(path)
    if (((await staging.identityOf(stagedName))?.nlink ?? 1n) > 1n) await staging.remove(stagedName)
    return staging
  } catch (error) {
    throw storageFailed(path, error)
  }
}

/** Beside a destination that others can write to, they may have made it first. */
async function privateFolder(path: string): Promise<Folder> {
  const folder = await Folder.open(path)
  if (await folder.isPrivate()) return folder
  await folder.close()
  throw new LocalError(
    'storage_failed',
    `${path} is not this user's alone; remove it, or choose another --output`,
  )
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
