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
 * Loads a part of the program. If the cache is in use, it keeps all functions of the part. Node fills the cache when
 * V8 has compiled a file, which leaves out every function until its first call: a hook would compile 200 of them each
 * time.
 *
 * A mark beside the cache tells later processes that this is done, because loading node:v8 takes them 4 ms.
 */
export function loadKept<T>(part: string, load: () => Promise<T>): Promise<T> {
  const mark = markOf(part)
  if (mark === undefined || process.getBuiltinModule('node:fs').existsSync(mark)) return load()
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--no-lazy')
  const loading = load().finally(() => setFlagsFromString('--lazy'))
  return loading.then((loaded) => {
    writeMark(mark)
    return loaded
  })
}

function writeMark(path: string): void {
  try {
    process.getBuiltinModule('node:module').flushCompileCache()
    process.getBuiltinModule('node:fs').writeFileSync(path, '', { mode: 0o600, flag: 'wx' })
  } catch {
    // A full or read-only disk, or another process was faster.
  }
}

/**
 * Path of the mark. It identifies the program's first file: another installation or another build has another cache. If
 * that file stays and another one changes, as in a clone that runs its sources, starts are some milliseconds slower.
 */
function markOf(part: string): string | undefined {
  const folder = process.getBuiltinModule('node:module').getCompileCacheDir()
  if (folder === undefined) return undefined
  try {
    const { ino, mtimeMs } = process.getBuiltinModule('node:fs').statSync(process.argv[1] ?? '')
    return `${folder}/${part}-${ino}-${Math.trunc(mtimeMs)}`
  } catch {
    return undefined
  }
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
