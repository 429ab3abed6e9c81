/**
 * A folder of this user only, with those above it.
 *
 * One step at a time: Node's recursive mkdir tries for ever where a file system takes no folders and says ENOENT, as
 * /proc does.
 */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../config-error.ts'

/** Folders that exist keep their mode. @throws ConfigError where none can be made. */
export function makePrivateFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (dirname(path) !== path) makePrivateFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    // Two that start at once make it once.
    if (code === 'EEXIST' && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
    const why = code === 'EEXIST' ? 'it is a file' : code
    throw new ConfigError(`cannot make the folder ${path} (${why}); name another place`, { cause })
  }
}
