/**
 * A file that appears under its name whole and synced, or not at all, and never in the place of another.
 *
 * It is made beside its name and linked to it in the end: a link refuses to replace. Whatever ends the process before
 * leaves a file whose name says `partial`, and nothing under the name.
 */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DestinationExists, PathMissing } from './faults.ts'

export interface NewFile {
  /** Where it is made, readable by this user only. */
  readonly partial: string
  /** Synced with its folder, then under its name. @throws DestinationExists */
  publish(): void
  /** Takes away what is left of making it; after `publish` there is nothing. */
  discard(): void
}

/** What SQLite may leave beside a database. */
const companions = ['-journal', '-wal', '-shm']

/** @throws DestinationExists, PathMissing */
export function makeNewFile(path: string, random: (bytes: number) => Buffer): NewFile {
  const folder = dirname(path)
  if (existsSync(path)) throw exists(path)
  if (!existsSync(folder)) throw new PathMissing(`there is no folder ${folder}`)
  const partial = join(folder, `.${basename(path)}.partial-${random(6).toString('hex')}`)
  closeSync(openSync(partial, 'wx', 0o600))
  return {
    partial,
    publish() {
      sync(partial)
      giveName(partial, path)
      sync(folder)
    },
    discard() {
      for (const suffix of ['', ...companions]) rmSync(partial + suffix, { force: true })
    },
  }
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

const exists = (path: string): DestinationExists =>
  new DestinationExists(`${path} is there already; nothing was written over it`)
