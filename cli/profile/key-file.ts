/** Reads private keys for commands. sdk/profile/profile-files.ts decides whether a key file is usable. */
import { type KeyFile, readKey } from '../../sdk/profile/profile-files.ts'
import { CommandError } from '../exit-codes.ts'

/** Returns the text of a key file. @throws CommandError that says in one line what is wrong with it. */
export const readKeyFile = async (path: string): Promise<string> => pemOf(await readKey(path))

/** {@link readKeyFile}, or undefined when there is no file. */
export async function readKeyFileIfThere(path: string): Promise<string | undefined> {
  const file = await readKey(path)
  return 'problem' in file && file.isMissing === true ? undefined : pemOf(file)
}

function pemOf(file: KeyFile): string {
  if (!('problem' in file)) return file.pem
  throw new CommandError('authentication', file.problem, { hint: file.remedy })
}
