/**
 * What Node made of our bundles, kept between runs: a seventh of what a short command costs.
 *
 * - In `$XDG_CACHE_HOME/agent-bridge`, else `~/.cache/agent-bridge`; Node names what it keeps by its version, and by
 *   content. NODE_DISABLE_COMPILE_CACHE=1 turns it off, as everywhere.
 * - Only from a folder of this very user that nobody else may write: what lies there is run.
 * - Where that is not possible a command is slower, and nothing else.
 */
type Environment = Readonly<Record<string, string | undefined>>

/** Loads nothing by itself: the file that calls it must be readable by an old Node. */
export function keepCompiled(environment: Environment): void {
  const base = cacheHome(environment)
  const uid = process.getuid?.()
  if (base === undefined || uid === undefined) return
  try {
    const folder = `${base}/agent-bridge`
    const { lstatSync } = process.getBuiltinModule('node:fs')
    const look = () => lstatSync(folder, { throwIfNoEntry: false })
    if (look() === undefined) make(base, folder)
    const found = look()
    const isOurs = found?.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0
    if (isOurs) process.getBuiltinModule('node:module').enableCompileCache(folder)
  } catch {
    // No such home, a full or read-only disk, a folder that cannot be looked at.
  }
}

/** Two that start at once make it once. */
function make(...folders: readonly string[]): void {
  const { existsSync, mkdirSync } = process.getBuiltinModule('node:fs')
  for (const folder of folders) if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
}

/** "All paths set in these environment variables must be absolute" (XDG base directories). */
function cacheHome({ HOME, XDG_CACHE_HOME }: Environment): string | undefined {
  if (XDG_CACHE_HOME?.startsWith('/')) return XDG_CACHE_HOME
  return HOME?.startsWith('/') ? `${HOME}/.cache` : undefined
}
