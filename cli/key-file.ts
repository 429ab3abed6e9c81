/**
 * Private keys on disk: 0600, in no other form, and never through a symbolic link.
 *
 * A key that others may read is refused, not repaired: who read it is unknown.
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { CommandFailure } from './exit-codes.ts'

/** The text of a key file. @throws CommandFailure that says in one line what is wrong with it. */
export async function readKeyFile(path: string): Promise<string> {
  const text = await readKeyFileIfThere(path)
  if (text !== undefined) return text
  throw new CommandFailure('authentication', `the private key ${path} is missing`, {
    hint: 'without it the identity is lost: ask the owner for a new enrolment',
  })
}

/** {@link readKeyFile}, or undefined when there is no file. */
export async function readKeyFileIfThere(path: string): Promise<string | undefined> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    const why = code === 'ELOOP' ? 'is a symbolic link' : `cannot be read (${code ?? 'unknown error'})`
    throw new CommandFailure('authentication', `the private key ${path} ${why}`, {
      hint: code === 'EACCES' ? `run as its owner, or: chmod 600 ${path}` : undefined,
      cause: error,
    })
  }
  try {
    return await readPrivate(file, path)
  } finally {
    await file.close()
  }
}

async function readPrivate(file: FileHandle, path: string): Promise<string> {
  const { mode } = await file.stat()
  if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
    throw new CommandFailure('authentication', `the private key ${path} is not a regular file`)
  }
  if ((mode & 0o077) !== 0) {
    const octal = (mode & 0o777).toString(8).padStart(4, '0')
    throw new CommandFailure('authentication', `the private key ${path} is open to others (mode ${octal})`, {
      hint: `if nobody read it: chmod 600 ${path}`,
    })
  }
  return file.readFile('utf8')
}
