/**
 * Enables Node's compile cache for our bundles, which saves a seventh of the time of a short command.
 *
 * - The folder is `$XDG_CACHE_HOME/agent-bridge`, else `~/.cache/agent-bridge`. Node keys its entries by Node
 *   version and content. NODE_DISABLE_COMPILE_CACHE=1 turns the cache off, as in every Node program.
 * - The folder must belong to the current user and be writable by no one else, because Node runs the code in
 *   it.
 * - If the cache cannot be used, commands start more slowly and work the same.
 */
type Environment = Readonly<Record<string, string | undefined>>

/** Enables the cache. Imports nothing, because launch.ts includes this file and must parse on an old Node. */
export function keepCompiled(environment: Environment): void {
  const base = cacheHome(environment)
  const uid = process.getuid?.()
  if (base === undefined || uid === undefined) return
  try {
    const folder = `${base}/agent-bridge`
    const { lstatSync } = process.getBuiltinModule('node:fs')
    const stat = () => lstatSync(folder, { throwIfNoEntry: false })
    if (stat() === undefined) createFolders(base, folder)
    const found = stat()
    const isOurs = found?.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0
    if (isOurs) process.getBuiltinModule('node:module').enableCompileCache(folder)
  } catch {
    // No home folder, a full or read-only disk, or an unreadable folder: run without the cache.
  }
}

/**
 * Loads a module. If the cache is in use, it keeps all functions of the module. Node fills the cache when V8 has
 * compiled a file, which leaves out every function until its first call: a hook would compile 200 of them each time.
 */
export function loadKept<T>(load: () => Promise<T>): Promise<T> {
  if (process.getBuiltinModule('node:module').getCompileCacheDir() === undefined) return load()
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--no-lazy')
  return load().finally(() => setFlagsFromString('--lazy'))
}

/** Creates the folders that are missing. If another process is faster, this run has no cache. */
function createFolders(...folders: readonly string[]): void {
  const { existsSync, mkdirSync } = process.getBuiltinModule('node:fs')
  for (const folder of folders) if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
}

/** "All paths set in these environment variables must be absolute" (XDG base directories). */
function cacheHome({ HOME, XDG_CACHE_HOME }: Environment): string | undefined {
  if (XDG_CACHE_HOME?.startsWith('/')) return XDG_CACHE_HOME
  return HOME?.startsWith('/') ? `${HOME}/.cache` : undefined
}
