/**
 * Drafts: new files and folders beside their place, until a rename puts them there. Their names are fixed,
 * because only one command writes at a time, so the next command finds and removes those of a killed one.
 */
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Disk, lookAt } from './disk.ts'

export const draftOf = (path: string): string => join(dirname(path), `.${basename(path)}.agent-bridge.tmp`)

/** Removes the drafts of these paths. */
export async function clearDrafts(paths: readonly string[], disk: Disk): Promise<void> {
  for (const path of paths) await clear(draftOf(path), disk)
}

async function clear(path: string, disk: Disk): Promise<void> {
  const status = await lookAt(path)
  if (status === undefined) return
  if (!status.isDirectory()) return disk.removeFile(path)
  for (const name of await readdir(path)) await clear(join(path, name), disk)
  await disk.removeFolder(path)
}
