/**
 * The sealed copy of a file that is being sent: made before hashing, kept until the upload is done.
 *
 * Sealing again gives other bytes, so an upload that is taken up again needs the same copy. It lies in a private folder,
 * named by its transfer; one that nobody came back for goes after the longest life of a transfer.
 *
 * Contract §9.
 */
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { limits } from '../contract/limits.ts'
import { makePrivateFolder, storageFailed, syncFolder } from '../durable-file.ts'
import { sealFile } from '../sealing.ts'
import { LocalError } from '../transport/failures.ts'

/** How a copy is sealed for its recipient, and where it waits. */
export interface SealOptions {
  /** Private to this user; made when it is missing. */
  readonly folder: string
  /** Refuse a recipient without a key. By default such a file goes as it is. */
  readonly required?: boolean | undefined
}

export const sealedCopyOf = (folder: string, transferId: string): string => join(folder, `${transferId}.age`)

/** The copy of a transfer that was offered. @throws LocalError `not_sendable` when it is gone */
export async function requireSealedCopy(seal: SealOptions | undefined, transferId: string): Promise<string> {
  const path = seal === undefined ? undefined : sealedCopyOf(seal.folder, transferId)
  const found = path === undefined ? undefined : await stat(path).catch(() => undefined)
  if (path !== undefined && found?.isFile() === true) return path
  throw new LocalError(
    'not_sendable',
    'the sealed copy of this transfer is not here; cancel it and send anew',
  )
}

/** Sealed into a place of its own; {@link keepAs} names it by its transfer. */
export async function makeSealedCopy(
  path: string,
  recipient: string,
  { folder }: SealOptions,
  { signal, now }: { readonly signal?: AbortSignal | undefined; readonly now: Date },
): Promise<string> {
  const source = await stat(path).catch((error: unknown) => {
    throw storageFailed(path, error)
  })
  if (!source.isFile()) throw new LocalError('not_sendable', `${path} is not a regular file`)
  await makePrivateFolder(folder)
  await removeForgotten(folder, now)
  const copy = join(await mkdtemp(join(folder, 'offer-')), 'sealed')
  await sealFile(path, copy, recipient, { signal }).catch(async (error: unknown) => {
    await discard(copy)
    throw error
  })
  return copy
}

export async function keepAs(copy: string, { folder }: SealOptions, transferId: string): Promise<string> {
  const path = sealedCopyOf(folder, transferId)
  await rename(copy, path)
  await syncFolder(folder)
  await discard(copy)
  return path
}

/** With the place that was made for it. */
export const discard = (copy: string): Promise<void> => rm(dirname(copy), { recursive: true, force: true })

async function removeForgotten(folder: string, now: Date): Promise<void> {
  const oldest = now.getTime() - limits.transferTtlSeconds.max * 1000
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && found.mtimeMs < oldest) await rm(path, { recursive: true, force: true })
  }
}
