/**
 * Reads and writes the small private files of the program. Reading uses JSON.parse, because every command
 * reads them. Writing uses conf, which is loaded only then.
 *
 * conf writes atomically, synced and with mode 0600. It creates folders that others can read, so they are
 * created with mode 0700 before.
 */
import { chmod, readFile } from 'node:fs/promises'
import { basename, dirname, extname } from 'node:path'
import { CommandError, type ExitName } from '../exit-codes.ts'

/**
 * Returns the parsed file, or undefined if there is none. `hint` says how to repair the file.
 *
 * @throws CommandError when the file cannot be read or is not an object.
 */
export async function readJson(
  path: string,
  exit: ExitName,
  hint?: string,
): Promise<Record<string, unknown> | undefined> {
  const text = await readIfThere(path, exit)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Reported below without the parser's message, which would repeat the content.
  }
  throw new CommandError(exit, `${path} is not a JSON object`, { hint })
}

async function readIfThere(path: string, exit: ExitName): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new CommandError(exit, `cannot read ${path} (${code ?? 'unknown error'})`, { cause: error })
  }
}

/** Replaces the whole file. If two processes write, the last one wins. No reader sees a partial file. */
export async function writeJson(path: string, value: object): Promise<void> {
  const folder = dirname(path)
  try {
    const [{ makePrivateFolder }, { default: Conf }] = await Promise.all([
      import('../../sdk/program.ts'),
      import('conf'),
    ])
    await makePrivateFolder(folder)
    const extension = extname(path)
    const conf = new Conf<Record<string, unknown>>({
      cwd: folder,
      configName: basename(path, extension),
      fileExtension: extension.slice(1),
      configFileMode: 0o600,
      // The file is replaced as a whole, so its old content may be invalid.
      clearInvalidConfig: true,
    })
    conf.store = { ...value }
    await chmod(path, 0o600)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new CommandError('unexpected', `cannot write ${path} (${code ?? String(cause)})`, { cause })
  }
}
