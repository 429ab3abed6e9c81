/**
 * Durable file writes: write a temporary file, sync it, rename it into place, sync the folder.
 *
 * Folders have mode 0700 and files 0600.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LocalError, type LocalErrorCode } from '../transport/failures.ts'

/**
 * Creates a folder and its missing parents, for this user only. Existing folders keep their mode.
 *
 * It creates one level at a time. Node's recursive mkdir loops endlessly on a file system such as /proc,
 * which refuses folders with ENOENT.
 *
 * @throws LocalError `storage_failed`
 */
export async function makePrivateFolder(path: string): Promise<void> {
  if (await isFolder(path)) return
  if (dirname(path) !== path) await makePrivateFolder(dirname(path))
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created the folder at the same time.
    if (!(await isFolder(path))) throw storageFailed(path, error)
  }
}

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(nothing))?.isDirectory() === true

/** A failed stat counts as no folder: mkdir then fails with the reason. */
const nothing = (): undefined => undefined

/**
 * Writes a file atomically and durably: after a power cut it has the old or the new text. The last of several
 * concurrent writers wins.
 */
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

/** Syncs a folder, which makes renames and removals in it durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * Returns a LocalError `storage_failed` for a platform error on one of our files. A LocalError passes
 * through.
 */
export function storageFailed(path: string, cause: unknown): LocalError {
  return cause instanceof LocalError ? cause : failed('storage_failed', path, cause)
}

/**
 * Like {@link storageFailed}, for a file that the caller named: if the name is wrong, the code is
 * `not_sendable`.
 */
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
  ENOENT: 'it does not exist',
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the disk is read-only',
  EMFILE: 'too many files are open',
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOENT'
