/**
 * The small private files of the program: read with JSON.parse, since every command reads them; written through conf,
 * which is loaded only then.
 *
 * conf writes atomically, synced, 0600, but makes folders for everybody: they are made 0700 first.
 */
import { chmod, readFile } from 'node:fs/promises'
import { basename, dirname, extname } from 'node:path'
import { CommandError, type ExitName } from '../exit-codes.ts'

/**
 * The parsed file, or undefined when there is none. `hint`: what makes it good again.
 *
 * @throws CommandError when it cannot be read or is no object.
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
    // Said below, together with JSON of another shape; the parser's words would repeat the content.
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

/** Replace the whole file. Concurrent writers: the last one wins, and no reader sees half of it. */
export async function writeJson(path: string, value: object): Promise<void> {
  const folder = dirname(path)
  try {
    const [{ makePrivateFolder }, { default: Conf }] = await Promise.all([
      import('../../sdk/index.ts'),
      import('conf'),
    ])
    await makePrivateFolder(folder)
    const extension = extname(path)
    const conf = new Conf<Record<string, unknown>>({
      cwd: folder,
      configName: basename(path, extension),
      fileExtension: extension.slice(1),
      configFileMode: 0o600,
      // What is there is replaced whole; that it cannot be read must not stand in the way.
      clearInvalidConfig: true,
    })
    conf.store = { ...value }
    await chmod(path, 0o600)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new CommandError('unexpected', `cannot write ${path} (${code ?? String(cause)})`, { cause })
  }
}
