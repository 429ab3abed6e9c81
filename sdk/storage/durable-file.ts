/**
 * Files that survive a power cut: written whole under another name, synced, renamed into place, the folder synced.
 *
 * Everything is private: folders 0700, files 0600.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LocalError, type LocalErrorCode } from '../transport/failures.ts'

/**
 * Make a folder, and those above it, for this user only. Folders that exist keep their mode.
 *
 * One step at a time: Node's recursive mkdir tries for ever where a file system takes no folders and says ENOENT, as
 * /proc does.
 *
 * @throws LocalError `storage_failed`
 */
export async function makePrivateFolder(path: string): Promise<void> {
  if (await isFolder(path)) return
  if (dirname(path) !== path) await makePrivateFolder(dirname(path))
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Two that start at once make it once.
    if (!(await isFolder(path))) throw storageFailed(path, error)
  }
}

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(nothing))?.isDirectory() === true

/** What cannot be looked at cannot be made either, and making it says why. */
const nothing = (): undefined => undefined

/** Whole or not at all, also through a power cut. Concurrent writers: the last one wins. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw storageFailed(path, error)
  }
  await syncFolder(dirname(path))
}

/** A rename or removal lasts only when the folder is synced. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** What the platform said about a file of ours, in our words. */
export function storageFailed(path: string, cause: unknown): LocalError {
  return cause instanceof LocalError ? cause : failed('storage_failed', path, cause)
}

/** {@link storageFailed} of a file that the caller named: a wrong name is its mistake. */
export function sourceFailed(path: string, cause: unknown): LocalError {
  const { code = '' } = cause as NodeJS.ErrnoException
  return wrongName.test(code) ? failed('not_sendable', path, cause) : storageFailed(path, cause)
}

const wrongName = /^(ENOENT|EACCES|EPERM|EISDIR|ENOTDIR|ELOOP|ENAMETOOLONG)$/

function failed(kind: LocalErrorCode, path: string, cause: unknown): LocalError {
  const code = (cause as NodeJS.ErrnoException | null)?.code ?? 'unknown error'
  const words = errnoWords[code] === undefined ? '' : `: ${errnoWords[code]}`
  return new LocalError(kind, `cannot use ${path}${words} (${code})`, { cause })
}

const errnoWords: Readonly<Record<string, string>> = {
  ENOENT: 'it is not there',
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the disk is read-only',
  EMFILE: 'too many files are open',
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOENT'
