/**
 * Reads and writes the small private files of the program. Reading uses JSON.parse, because every command
 * reads them. Writing uses conf, which is loaded only then.
 *
 * conf writes atomically, synced and with mode 0600. It creates folders that others can read, so they are
 * created with mode 0700 before.
 */
import { chmodSync, readFileSync } from 'node:fs'
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
  const text = readIfThere(path, exit)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Reported below without the parser's message, which would repeat the content.
  }
  throw new CommandError(exit, `${path} is not a JSON object`, { hint })
}

function readIfThere(path: string, exit: ExitName): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new CommandError(exit, `cannot read ${path} (${code ?? 'unknown error'})`, { cause: error })
  }
}

const interruptions = ['SIGINT', 'SIGTERM'] as const

/**
 * Loads conf, without the listeners by which it sends SIGINT or SIGTERM to this process a second time. The
 * program would take that for a second Ctrl-C and exit at once. The clean-up of conf also runs at each exit.
 */
async function loadConf() {
  const own = interruptions.map((name) => process.rawListeners(name))
  const { default: Conf } = await import('conf')
  for (const [index, name] of interruptions.entries())
    for (const listener of process.rawListeners(name))
      if (!own[index]?.includes(listener)) process.off(name, listener as NodeJS.SignalsListener)
  return Conf
}

/** Replaces the whole file. If two processes write, the last one wins. No reader sees a partial file. */
export async function writeJson(path: string, value: object): Promise<void> {
  const folder = dirname(path)
  try {
    const [{ makePrivateFolder }, Conf] = await Promise.all([import('../../sdk/program.ts'), loadConf()])
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
    chmodSync(path, 0o600)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new CommandError('unexpected', `cannot write ${path} (${code ?? String(cause)})`, { cause })
  }
}
