/** Finds folders that import each other. */
import { posix } from 'node:path'
import { circles } from './circles.ts'
import { parseSource } from './source-imports.ts'

/** Returns the folder of a path. A file directly in `root` counts as a folder. */
export type FolderOf = (root: string, path: string) => string

/** In `cli`, `cli/commands/task/show.ts` is in `cli/commands`, `cli/run.ts` in `cli/run.ts`. */
export const topFolder: FolderOf = (root, path) => path.split('/', root.split('/').length + 1).join('/')

/** In `cli`, `cli/commands/task/show.ts` is in `cli/commands/task`, `cli/run.ts` in `cli/run.ts`. */
export const innerFolder: FolderOf = (root, path) =>
  posix.dirname(path) === root ? path : posix.dirname(path)

/**
 * Returns one chain for each circle of the folders of `root`. Type imports and `import()` count too. `texts` maps
 * each path in `root` to its source.
 */
export function folderCircles(
  root: string,
  texts: Readonly<Record<string, string>>,
  folderOf: FolderOf = topFolder,
): string[] {
  const graph = new Map<string, Set<string>>()
  for (const [path, text] of Object.entries(texts)) {
    const folder = folderOf(root, path)
    const imported = parseSource(path, text)
      .imports.filter(({ target }) => target.startsWith(`${root}/`))
      .map(({ target }) => folderOf(root, target))
      .filter((other) => other !== folder)
    graph.set(folder, new Set([...(graph.get(folder) ?? []), ...imported]))
  }
  return circles(graph)
}
