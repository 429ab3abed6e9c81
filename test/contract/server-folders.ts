/** The order of the folders of `server/`: each imports folders of its own level and of lower ones. */
import { parseSource } from './source-imports.ts'

/** Lowest level first. A file directly in `server/` counts as a folder. Folders not listed here are nouns. */
const listed: readonly { readonly name: string; readonly folders: readonly string[] }[] = [
  {
    name: 'base',
    folders: [
      'api-error.ts',
      'build.ts',
      'config-error.ts',
      'config-file.ts',
      'log-stream.ts',
      'outage.ts',
      'retry-after.ts',
      'database-url.ts',
      'packages-place.ts',
    ],
  },
  {
    name: 'technology',
    folders: [
      'storage',
      'listening',
      'database/migrations',
      'database/sqlite',
      'database/postgres',
      'database',
      'http',
      'bus',
      'delivery',
      'identity',
      'metrics',
      'package-store/folder',
      'package-store/objects',
      'package-store',
      'client-package',
      'config.ts',
      'settings.ts',
    ],
  },
  {
    name: 'shared',
    folders: [
      'open-store.ts',
      'open-packages.ts',
      'context.ts',
      'route.ts',
      'idempotency.ts',
      'maintenance',
      'audit',
    ],
  },
  { name: 'nouns', folders: [] },
  {
    name: 'program',
    folders: [
      'app.ts',
      'maintenance-jobs.ts',
      'observe.ts',
      'host',
      'host/backups',
      'host/moves',
      'server.ts',
      'main.ts',
    ],
  },
]

const nounLevel = listed.findIndex(({ name }) => name === 'nouns')

function levelOf(folder: string): number {
  const found = listed.findIndex(({ folders }) => folders.includes(folder))
  return found < 0 ? nounLevel : found
}

/**
 * `server/tasks/store.ts` is in `tasks`, `server/app.ts` in `app.ts`. A file directly in the owner's page, which
 * is a program of its own, counts as a folder too.
 */
const folderOf = (path: string): string =>
  /^server\/(?!portal\/page\/[^/]+$)(.+)\/[^/]+$/.exec(path)?.[1] ?? path.slice('server/'.length)

/** Maps each folder to those that it imports. `files` maps each path in `server/` to its text. */
export function folderGraph(files: Readonly<Record<string, string>>): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>()
  for (const [from, to] of arrows(files)) {
    const imported = graph.get(folderOf(from)) ?? new Set()
    graph.set(folderOf(from), imported.add(folderOf(to)))
  }
  return graph
}

/** Returns one sentence for each import of a higher level. */
export const upwardImports = (files: Readonly<Record<string, string>>): string[] =>
  arrows(files).flatMap(([from, to]) => {
    const [low, high] = [levelOf(folderOf(from)), levelOf(folderOf(to))]
    if (high <= low) return []
    return [
      `${from} (${listed[low]?.name}) imports ${to} (${listed[high]?.name}): declare the services that it needs as an interface, or move the file to the level that it belongs to`,
    ]
  })

const arrows = (files: Readonly<Record<string, string>>): (readonly [string, string])[] =>
  Object.entries(files).flatMap(([path, text]) =>
    parseSource(path, text)
      .imports.map(({ target }) => [path, target] as const)
      .filter(([, target]) => target.startsWith('server/') && folderOf(target) !== folderOf(path)),
  )

/** Listed folders that do not exist. */
export const missingFolders = (files: Readonly<Record<string, string>>): string[] => {
  const existing = new Set(Object.keys(files).map(folderOf))
  return listed.flatMap(({ folders }) => folders.filter((folder) => !existing.has(folder)))
}
