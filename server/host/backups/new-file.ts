/**
 * Creates a file that gets its name only when it is complete and synced, and that never replaces another
 * file.
 *
 * - The file is written under a temporary name beside its destination and then hard-linked to it, because
 *   linking never replaces a file. If the process dies before, a file with `partial` in its name remains, and
 *   the destination does not exist.
 * - The process holds a lock file beside the temporary file, which is released when the process ends. Other
 *   processes can therefore tell a leftover from a file that is being written. The next process that makes a
 *   file in this folder deletes leftovers.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { sqliteCode } from '../../database/sqlite/connection.ts'
import { type FileLock, lockFile } from '../../database/sqlite/lock.ts'
import { DestinationExistsError, PathMissingError } from './errors.ts'

export interface NewFile {
  /** Temporary path, readable by this user only. */
  readonly partial: string
  /** Syncs the file, gives it its name and syncs the folder. @throws DestinationExistsError */
  publish(): void
  /** Deletes temporary and lock files. After `publish` only the lock file remains to be deleted. */
  discard(): void
}

/** Files that SQLite may leave beside a database. */
const companions = ['-journal', '-wal', '-shm']
const lockSuffix = '-lock'
const lockName = /^\..+\.partial-[0-9a-f]{12}-lock$/

/** @throws DestinationExistsError, PathMissingError */
export function makeNewFile(path: string, random: (bytes: number) => Buffer): NewFile {
  const folder = dirname(path)
  if (existsSync(path)) throw exists(path)
  if (!existsSync(folder)) throw new PathMissingError(`the folder ${folder} does not exist`)
  const { partial, lock } = claimName(path, random)
  try {
    closeSync(openSync(partial, 'wx', 0o600))
  } catch (error) {
    discardFiles(partial, lock)
    throw error
  }
  return {
    partial,
    publish() {
      sync(partial)
      linkTo(partial, path)
      sync(folder)
    },
    discard: () => discardFiles(partial, lock),
  }
}

/** Creates the lock before the temporary file, so that the latter never exists without a lock. */
function claimName(path: string, random: (bytes: number) => Buffer): { partial: string; lock: FileLock } {
  for (let tries = 0; tries < 3; tries += 1) {
    const partial = join(dirname(path), `.${basename(path)}.partial-${random(6).toString('hex')}`)
    closeSync(openSync(partial + lockSuffix, 'wx', 0o600))
    const lock = lockFile(partial + lockSuffix)
    // Another process that deletes leftovers may have seen the lock file before it was locked and deleted it.
    if (lock !== undefined && existsSync(partial + lockSuffix)) return { partial, lock }
    lock?.release()
  }
  throw new Error(`the lock of a new file in ${dirname(path)} was deleted by another process three times`)
}

/** Deletes the lock file last, so that the other files are gone before another process can take the lock. */
function discardFiles(partial: string, lock: FileLock): void {
  for (const suffix of ['', ...companions, lockSuffix]) rmSync(partial + suffix, { force: true })
  lock.release()
}

/** Deletes leftovers of killed processes in this folder and returns their names. */
export function removeLeftovers(folder: string): string[] {
  const locks = readdirSync(folder).filter((name) => lockName.test(name))
  return locks.flatMap((name) => {
    const lock = lockLeftover(join(folder, name))
    if (lock === undefined) return []
    const partial = name.slice(0, -lockSuffix.length)
    discardFiles(join(folder, partial), lock)
    return [partial]
  })
}

/**
 * Locks a leftover. Returns undefined if a process holds the lock or has just released it, or if the file is
 * not ours.
 */
function lockLeftover(path: string): FileLock | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isFile() !== true || found.size > 0 || found.uid !== process.getuid?.()) return undefined
  try {
    const lock = lockFile(path)
    if (existsSync(path)) return lock
    lock?.release()
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error
  }
  return undefined
}

/** Syncs a file, or the names in a folder, so that it survives a power failure. */
export function sync(path: string): void {
  const open = openSync(path, 'r')
  try {
    fsyncSync(open)
  } finally {
    closeSync(open)
  }
}

function linkTo(partial: string, path: string): void {
  try {
    linkSync(partial, path)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw exists(path)
    if (!noHardLinks.has(code)) throw error
    if (existsSync(path)) throw exists(path)
    renameSync(partial, path)
    return
  }
  rmSync(partial)
}

/** Error codes of file systems without hard links, such as FAT on memory sticks. */
const noHardLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

const exists = (path: string): DestinationExistsError =>
  new DestinationExistsError(`${path} exists already and was not changed`)
