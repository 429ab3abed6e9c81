/**
 * The age key of a profile: made or imported here, opened here, and written elsewhere only by `bridge key export`.
 *
 * The file is an identity file of age, 0600, held to the same rules as the signing key.
 */
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { AgeKey } from '../../sdk/index.ts'
import type { ProfilePaths } from '../../sdk/storage/profile-files.ts'
import { CommandError } from '../exit-codes.ts'
import { readKeyFileIfThere } from './key-file.ts'

/** @throws CommandError when the file is there and cannot be used; LocalError `key_missing` when it holds no key */
export async function readAgeKey({ ageKey }: ProfilePaths): Promise<AgeKey | undefined> {
  const text = await readKeyFileIfThere(ageKey)
  if (text === undefined) return undefined
  return (await import('../../sdk/index.ts')).ageKeyOf(text)
}

/** @throws CommandError when there is none */
export async function requireAgeKey(paths: ProfilePaths): Promise<AgeKey> {
  const key = await readAgeKey(paths)
  if (key !== undefined) return key
  throw new CommandError('not_found', 'this profile has no age key', {
    hint: 'bridge key create makes one',
  })
}

/** A new private file; nothing is overwritten. @throws CommandError when the name is taken */
export async function writeAgeKey(path: string, key: AgeKey): Promise<void> {
  const { identityFileOf } = await import('../../sdk/index.ts')
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
    if (code === 'EEXIST') throw new CommandError('conflict', `${path} exists already`, { cause })
    throw new CommandError('unexpected', `cannot write ${path} (${code})`, { cause })
  }
}
