/**
 * Folder whose files the tools may read and write.
 *
 * An MCP server usually runs outside the sandbox of its harness. If it took any path, a model could write where its
 * sandbox forbids, so files stay inside one folder, without its hidden parts such as `.git`.
 */
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { CommandError } from '../../exit-codes.ts'

export interface FilesFolder {
  /** The folder, as it was given. */
  readonly folder: string
  /** Folder of all profiles. A folder above or below it is refused: the private keys are in there. */
  readonly home: string
}

/** Returns the real path of an existing file or folder. @throws CommandError if it is outside or hidden */
export async function existingInside(files: FilesFolder, path: string): Promise<string> {
  const root = await rootOf(files)
  const found = await realpath(resolve(root, path)).catch(() => undefined)
  if (found === undefined) throw new CommandError('not_found', `there is no ${path} in ${root}`)
  return required(root, found, path)
}

/** Returns the path for a new file, whose folder exists. @throws CommandError if it is outside or hidden */
export async function newInside(files: FilesFolder, path: string): Promise<string> {
  const root = await rootOf(files)
  const wanted = resolve(root, path)
  const parent = await realpath(dirname(wanted)).catch(() => undefined)
  if (parent === undefined) throw new CommandError('not_found', `there is no folder ${dirname(wanted)}`)
  return required(root, join(parent, basename(wanted)), path)
}

async function rootOf({ folder, home }: FilesFolder): Promise<string> {
  const root = await realpath(folder)
  const profiles = await realpath(home).catch(() => resolve(home))
  const why = !isOutside(root, profiles) ? 'contains' : !isOutside(profiles, root) ? 'is within' : undefined
  if (why !== undefined)
    throw new CommandError('usage', `files are off: ${root} ${why} the profiles of this machine`, {
      hint: 'start the server in the folder of a project, or with --files FOLDER',
    })
  return root
}

const isOutside = (root: string, path: string): boolean => {
  const way = relative(root, path)
  return way === '..' || way.startsWith(`..${sep}`) || resolve(way) === way
}

function required(root: string, found: string, path: string): string {
  const isHidden = relative(root, found)
    .split(sep)
    .some((name) => name.startsWith('.'))
  if (!isOutside(root, found) && !isHidden) return found
  throw new CommandError(
    'usage',
    `${path} is ${isHidden && !isOutside(root, found) ? 'hidden' : 'outside'}`,
    {
      hint: `files of the tools are inside ${root}, and neither they nor their folders are hidden`,
    },
  )
}
