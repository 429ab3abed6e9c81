/**
 * A file that appears under its name whole and synced, or not at all, and never in the place of another.
 *
 * - It is made beside its name and linked to it in the end: a link refuses to replace. Whatever ends the process before
 *   leaves a file whose name says `partial`, and nothing under the name.
 * - Who makes it holds a lock beside it, which dies with the process. So what a killed process left is known from what
 *   is being made, by anybody who shares the disk, and the next to make a file in that folder takes it away.
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
import { sqliteCode } from '../../database/connection.ts'
import { type FileLock, lockFile } from '../../database/lock.ts'
import { DestinationExistsError, PathMissingError } from './errors.ts'

export interface NewFile {
  /** Where it is made, readable by this user only. */
  readonly partial: string
  /** Synced with its folder, then under its name. @throws DestinationExistsError */
  publish(): void
  /** Takes away what is left of making it; after `publish` there is nothing but the lock. */
  discard(): void
}

/** What SQLite may leave beside a database. */
const companions = ['-journal', '-wal', '-shm']
const lockSuffix = '-lock'
const lockName = /^\..+\.partial-[0-9a-f]{12}-lock$/

/** @throws DestinationExistsError, PathMissingError */
export function makeNewFile(path: string, random: (bytes: number) => Buffer): NewFile {
  const folder = dirname(path)
  if (existsSync(path)) throw exists(path)
  if (!existsSync(folder)) throw new PathMissingError(`there is no folder ${folder}`)
  const { partial, lock } = claimName(path, random)
  try {
    closeSync(openSync(partial, 'wx', 0o600))
  } catch (error) {
    forget(partial, lock)
    throw error
  }
  return {
    partial,
    publish() {
      sync(partial)
      giveName(partial, path)
      sync(folder)
    },
    discard: () => forget(partial, lock),
  }
}

/** The lock first: a file that is being made is never without. */
function claimName(path: string, random: (bytes: number) => Buffer): { partial: string; lock: FileLock } {
  for (let tries = 0; tries < 3; tries += 1) {
    const partial = join(dirname(path), `.${basename(path)}.partial-${random(6).toString('hex')}`)
    closeSync(openSync(partial + lockSuffix, 'wx', 0o600))
    const lock = lockFile(partial + lockSuffix)
    // Whoever takes away what is left may have looked between the two, and found it held by nobody.
    if (lock !== undefined && existsSync(partial + lockSuffix)) return { partial, lock }
    lock?.release()
  }
  throw new Error(`the name of a new file in ${dirname(path)} was taken away three times`)
}

/** The lock last: what it stands for is gone before anybody else may have it. */
function forget(partial: string, lock: FileLock): void {
  for (const suffix of ['', ...companions, lockSuffix]) rmSync(partial + suffix, { force: true })
  lock.release()
}

/** Takes away what processes that were killed left of making files in this folder. Answers the names. */
export function removeLeftovers(folder: string): string[] {
  const locks = readdirSync(folder).filter((name) => lockName.test(name))
  return locks.flatMap((name) => {
    const lock = lockLeftover(join(folder, name))
    if (lock === undefined) return []
    const partial = name.slice(0, -lockSuffix.length)
    forget(join(folder, partial), lock)
    return [partial]
  })
}

/** Undefined when a living process holds it or has just ended with it, and when it is none of ours. */
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

/** What was written to a file, or which names a folder holds, survives a power cut from here on. */
export function sync(path: string): void {
  const open = openSync(path, 'r')
  try {
    fsyncSync(open)
  } finally {
    closeSync(open)
  }
}

function giveName(partial: string, path: string): void {
  try {
    linkSync(partial, path)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw exists(path)
    if (!linkless.has(code)) throw error
    if (existsSync(path)) throw exists(path)
    renameSync(partial, path)
    return
  }
  rmSync(partial)
}

/** What a file system says that has no links, such as that of a memory stick. */
const linkless = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

const exists = (path: string): DestinationExistsError =>
  new DestinationExistsError(`${path} is there already; nothing was written over it`)
