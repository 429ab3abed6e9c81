/**
 * Creates a folder that only this user can access, and its missing parents.
 *
 * The parents are made one by one, because Node's recursive mkdir loops forever on file systems that refuse
 * folders with ENOENT, such as /proc.
 */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../config-error.ts'

/** Existing folders keep their mode. @throws ConfigError if the folder cannot be made */
export function makePrivateFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (dirname(path) !== path) makePrivateFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    // Another process made it at the same time.
    if (code === 'EEXIST' && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
    const reason = code === 'EEXIST' ? 'it is a file' : code
    throw new ConfigError(`cannot create the folder ${path} (${reason}); choose another path`, { cause })
  }
}
