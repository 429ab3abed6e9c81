/**
 * Publishing a received file under its destination.
 *
 * Until the file is verified, it is in a separate staging folder beside the destination. An existing file is
 * replaced only if the caller requested it. An unfinished file never appears under the destination.
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
import { takeProcessLock } from '../../parts/process-lock.ts'
import { storageFailed, syncFolder } from '../../storage/durable-file.ts'
import { LocalError } from '../../transport/failures.ts'
import type { ReceivingNote } from './receiving-note.ts'

/** Name of the file until it is verified. The sender's filename is not used as a path. */
export const stagedName = 'file'

/** Earlier versions had no random part. */
const isPlainName = (name: string): boolean => /^opened(-[0-9a-f]+)?$/.test(name)

/**
 * Returns true if the destination already holds this file, because an earlier run was killed before it sent
 * the receipt. That run may not have reached its syncs, so the file and its name are synced here.
 *
 * @throws LocalError `storage_failed`, and `destination_exists` for any other file, before a byte is fetched
 */
export async function isThere(
  transfer: Transfer,
  destination: string,
  receiving: ReceivingNote,
  overwrite: boolean,
): Promise<boolean> {
  // Opening a FIFO must not block until a writer opens it.
  const found = await open(destination, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw storageFailed(destination, error)
    },
  )
  if (found === undefined) return false
  try {
    const isSame = transfer.encryption === 'none' ? isFile(found, transfer) : isPlain(found, receiving)
    if (await isSame) {
      await synced(found, destination)
      return true
    }
  } finally {
    await found.close()
  }
  if (overwrite) return false
  throw new LocalError('destination_exists', `${destination} exists with other content`)
}

async function synced(file: FileHandle, path: string): Promise<void> {
  try {
    // After the receipt the node deletes its copy.
    await file.sync()
    await syncFolder(dirname(path))
  } catch (error) {
    throw storageFailed(path, error)
  }
}

/**
 * Whether a file is the decrypted one. The offer has no hash of it, so it is recognised by the note of the
 * earlier run, or because it still has its staging name too.
 */
async function isPlain(file: FileHandle, receiving: ReceivingNote): Promise<boolean> {
  const found = await file.stat({ bigint: true })
  const staging = await privateFolder(receiving.staging).catch(() => undefined)
  try {
    for (const name of (await staging?.names())?.filter(isPlainName) ?? []) {
      const plain = await staging?.identityOf(name)
      if (plain !== undefined && isSameFile(plain, found)) return true
    }
  } finally {
    await staging?.close()
  }
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
 * Runs the work alone with the staging folder, so no other receiver publishes or removes what this one stages.
 *
 * @throws LocalError `transfer_in_use` if another receiver of this transfer works there, `storage_failed`
 */
export async function aloneWith<T>(
  path: string,
  transferId: string,
  work: (staging: Folder) => Promise<T>,
): Promise<T> {
  const staging = await makeStaging(path)
  try {
    // The download inside takes the lock that has the transfer's plain name.
    const release = await takeProcessLock(staging.key, `${transferId}/receiving`)
    if (release === undefined)
      throw new LocalError('transfer_in_use', 'another process receives this transfer here')
    try {
      return await work(staging)
    } finally {
      release()
    }
  } finally {
    await staging.close()
  }
}

/**
 * Returns a new name for the decrypted file, and removes what killed runs left of theirs.
 *
 * The name is random, because some systems have no process lock. Two receivers then fail, but none publishes
 * the unfinished file of the other.
 *
 * @throws LocalError `storage_failed`
 */
export async function newPlainName(staging: Folder, random: (bytes: number) => Buffer): Promise<string> {
  try {
    for (const name of (await staging.names()).filter(isPlainName)) await staging.remove(name)
  } catch (error) {
    throw storageFailed('the opened file of an earlier run', error)
  }
  return `opened-${random(8).toString('hex')}`
}

/**
 * Creates and opens the staging folder. Through the open handle, a folder put in its place later is not used.
 * If an earlier run already published the staged file (it has two names), its staged name is removed, since
 * the file belongs to the user.
 *
 * @throws LocalError `storage_failed`
 */
async function makeStaging(path: string): Promise<Folder> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
    const staging = await privateFolder(path)
    if (((await staging.identityOf(stagedName))?.nlink ?? 1n) > 1n) await staging.remove(stagedName)
    return staging
  } catch (error) {
    throw storageFailed(path, error)
  }
}

/**
 * Opens a folder that only this user can write. If the parent is writable for others, they may have created
 * it first.
 */
async function privateFolder(path: string): Promise<Folder> {
  const folder = await Folder.open(path)
  if (await folder.isPrivate()) return folder
  await folder.close()
  throw new LocalError(
    'storage_failed',
    `${path} is not this user's alone; remove it, or choose another --output`,
  )
}

/**
 * Publishes the file atomically and durably: by link, which never replaces a file, or with `overwrite` by
 * rename.
 */
export async function publish(staged: string, destination: string, overwrite: boolean): Promise<void> {
  try {
    await (overwrite ? rename(staged, destination) : link(staged, destination))
    // After the receipt the node deletes its copy, so the name must be durable before.
    await syncFolder(dirname(destination))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new LocalError('destination_exists', `${destination} exists already`, { cause: error })
    throw storageFailed(destination, error)
  }
}
