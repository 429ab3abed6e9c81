/**
 * Age key of a profile. Only `bridge key export` writes it anywhere else.
 *
 * The file is an age identity file with mode 0600. It must pass the same checks as the file of the signing
 * key.
 */
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { AgeKey } from '../../sdk/index.ts'
import type { ProfilePaths } from '../../sdk/profile/profile-files.ts'
import { CommandError } from '../exit-codes.ts'
import { readKeyFileIfThere } from './key-file.ts'

/**
 * Reads the age key. Returns undefined if there is no file.
 *
 * @throws CommandError when the file is unusable; LocalError `key_missing` when it holds no key
 */
export async function readAgeKey({ ageKey }: ProfilePaths): Promise<AgeKey | undefined> {
  const text = await readKeyFileIfThere(ageKey)
  if (text === undefined) return undefined
  return (await import('../../sdk/program.ts')).ageKeyOf(text)
}

/** {@link readAgeKey}. @throws CommandError when there is no file */
export async function requireAgeKey(paths: ProfilePaths): Promise<AgeKey> {
  const key = await readAgeKey(paths)
  if (key !== undefined) return key
  throw new CommandError('not_found', 'this profile has no age key', {
    hint: 'bridge key create creates one',
  })
}

/** Writes the key to a new private file. Never overwrites. @throws CommandError when the file exists */
export async function writeAgeKey(path: string, key: AgeKey): Promise<void> {
  const { identityFileOf } = await import('../../sdk/program.ts')
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(identityFileOf(key))
      await file.sync()
    } finally {
      await file.close()
    }
    const folder = await open(dirname(path), 'r')
    await folder.sync()
    await folder.close()
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error'
    if (code === 'EEXIST') throw new CommandError('conflict', `${path} already exists`, { cause })
    throw new CommandError('unexpected', `cannot write ${path} (${code})`, { cause })
  }
}
