/**
 * Files that are ours alone. A file counts as ours while its hash is the recorded one. A file with another
 * hash was changed by somebody else, and no command replaces or removes it.
 */
import { readdir, readFile } from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { CommandError } from '../../exit-codes.ts'
import { type Disk, lookAt } from './disk.ts'
import { clearDrafts, draftOf } from './drafts.ts'
import { type OwnRecord, sha256 } from './record.ts'
import { realPathOf } from './shared-file.ts'

export interface OwnFile {
  readonly path: string
  readonly text: string
}

/** Difference between a file and what it should be. */
export interface OwnChange {
  readonly path: string
  readonly change: 'create' | 'update' | 'same' | 'remove' | 'gone' | 'keep'
  readonly text?: string
  /** Hash of the file as it is; null if there is none. */
  readonly was: string | null
}

/** Plans the files of an installation. @throws CommandError if one of them is not ours */
export async function planOwn(
  files: readonly OwnFile[],
  recorded: readonly OwnRecord[],
  inside: readonly string[],
): Promise<OwnChange[]> {
  const changes: OwnChange[] = []
  for (const { path, text } of files) {
    await realPathOf(path, inside)
    const was = await hashOf(path)
    const change = was === null ? 'create' : was === sha256(text) ? 'same' : 'update'
    if (was !== null && change === 'update' && !isOurs(recorded, path, was)) {
      const why = recorded.some((each) => each.path === path)
        ? 'was changed since it was installed'
        : 'is not ours'
      throw new CommandError('conflict', `${path} ${why}; nothing was written`, {
        hint: 'move it away, then install again',
      })
    }
    changes.push({ path, change, text, was })
  }
  const paths = new Set(files.map(({ path }) => path))
  const dropped = recorded.filter(({ path }) => !paths.has(path))
  return [...changes, ...(await planOwnRemoval(dropped))]
}

/** Plans the removal of recorded files. */
export async function planOwnRemoval(recorded: readonly OwnRecord[]): Promise<OwnChange[]> {
  const changes: OwnChange[] = []
  for (const { path } of recorded) {
    const was = await hashOf(path)
    const change = was === null ? 'gone' : isOurs(recorded, path, was) ? 'remove' : 'keep'
    changes.push({ path, change, was })
  }
  return changes
}

const isOurs = (recorded: readonly OwnRecord[], path: string, hash: string): boolean =>
  recorded.some((each) => each.path === path && (each.sha256 === hash || each.was === hash))

/** Returns the hash of a file, null if nothing is there, or a word for anything that is no file. */
async function hashOf(path: string): Promise<string | null> {
  const status = await lookAt(path)
  if (status === undefined) return null
  return status.isFile() ? sha256(await readFile(path)) : 'no regular file'
}

/** Returns the folders to create for these paths, outermost first. */
export async function missingFolders(paths: readonly string[]): Promise<string[]> {
  const missing = new Set<string>()
  for (const path of paths) {
    for (let at = dirname(path); !missing.has(at) && (await lookAt(at)) === undefined; at = dirname(at))
      missing.add(at)
  }
  return [...missing].sort((one, other) => one.length - other.length)
}

/**
 * Makes the changes. If `folder` does not exist, it appears at once with all of its files: a harness that
 * starts meanwhile never sees a part of it.
 */
export async function applyOwn(
  changes: readonly OwnChange[],
  folder: string | undefined,
  made: readonly string[],
  disk: Disk,
): Promise<void> {
  const isNew = folder !== undefined && made.includes(folder)
  const draft = folder === undefined ? '' : draftOf(folder)
  const placed = (path: string): string =>
    isNew && isIn(path, folder) ? draft + path.slice(folder.length) : path
  try {
    for (const path of made) {
      if ((await lookAt(placed(path))) === undefined) await disk.makeFolder(placed(path))
    }
    for (const { path, change, text = '' } of changes) {
      // It has no text: in a new folder it would appear as an empty file.
      if (change === 'gone') continue
      if (placed(path) !== path) await disk.createFile(placed(path), Buffer.from(text))
      else if (change === 'create' || change === 'update') await replace(path, text, disk)
      else if (change === 'remove') await disk.removeFile(path)
    }
    if (!isNew) return
    await disk.rename(draft, folder)
  } catch (error) {
    if (isNew) await clearDrafts([folder], disk).catch(() => {})
    throw error
  }
  await disk.syncFolder(dirname(folder))
}

const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep)

async function replace(path: string, text: string, disk: Disk): Promise<void> {
  const draft = draftOf(path)
  try {
    await disk.createFile(draft, Buffer.from(text))
    await disk.rename(draft, path)
  } catch (error) {
    await disk.removeFile(draft).catch(() => {})
    throw error
  }
  await disk.syncFolder(dirname(path))
}

/** Removes those folders that are empty, innermost first. Returns the ones that stay. */
export async function removeEmpty(folders: readonly string[], disk: Disk): Promise<string[]> {
  const kept: string[] = []
  for (const path of folders.toSorted((one, other) => other.length - one.length)) {
    const status = await lookAt(path)
    if (status === undefined) continue
    if (status.isDirectory() && (await readdir(path)).length === 0) await disk.removeFolder(path)
    else kept.push(path)
  }
  return kept
}
