/**
 * No two folders of `cli/` import each other, directly or through others. Type imports and `import()` count too. A
 * file directly in `cli/` counts as a folder.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { circles } from './circles.ts'
import { parseSource } from './source-imports.ts'

const root = join(import.meta.dirname, '../..')

type FolderOf = (path: string) => string

/** `cli/commands/task/show.ts` is in `cli/commands`, `cli/run.ts` in `cli/run.ts`. */
const topFolder: FolderOf = (path) => path.split('/').slice(0, 2).join('/')

/** `cli/commands/task/show.ts` is in `cli/commands/task`, `cli/run.ts` in `cli/run.ts`. */
const innerFolder: FolderOf = (path) => (path.split('/').length === 2 ? path : posix.dirname(path))

/** `texts` maps each path in `cli/` to its source. */
function folderCircles(texts: Readonly<Record<string, string>>, folderOf = topFolder): string[] {
  const graph = new Map<string, Set<string>>()
  for (const [path, text] of Object.entries(texts)) {
    const targets = parseSource(path, text).imports.map(({ target }) => target)
    const others = targets
      .filter((target) => target.startsWith('cli/'))
      .map(folderOf)
      .filter((folder) => folder !== folderOf(path))
    graph.set(folderOf(path), new Set([...(graph.get(folderOf(path)) ?? []), ...others]))
  }
  return circles(graph)
}

const paths = globSync('cli/**/*.ts', { cwd: root }).sort()
const files = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))

test('no two folders of cli import each other, directly or through others', () => {
  expect(paths.length).toBeGreaterThan(200)
  expect(new Set(paths.map(topFolder)).size).toBeGreaterThan(15)
  expect(folderCircles(files)).toEqual([])
})

test('nor do two subfolders, or a folder and its subfolder', () => {
  expect(new Set(paths.map(innerFolder)).size).toBeGreaterThan(30)
  expect(folderCircles(files, innerFolder)).toEqual([])
})

test('the check finds an import of the tools of MCP that is added to a command', () => {
  const path = 'cli/commands/send.ts'
  const planted = { ...files, [path]: `import type { Unread } from '../mcp/serve.ts'\n${files[path]}` }
  expect(folderCircles(planted)).toEqual(['cli/commands → cli/mcp → cli/commands'])
})

describe('the check finds', () => {
  test('two folders that import each other through different files, also by types', () => {
    const texts = {
      'cli/owner/client.ts': "import { a } from '../profile/profile.ts'",
      'cli/profile/agent.ts': "import type { B } from '../owner/text.ts'",
    }
    expect(folderCircles(texts)).toEqual(['cli/owner → cli/profile → cli/owner'])
  })

  test('a circle through a subfolder and a file directly in cli', () => {
    const texts = {
      'cli/commands/task/show.ts': "import '../../context.ts'",
      'cli/context.ts': "const a = () => import('./failures/words.ts')",
      'cli/failures/words.ts': "import '../commands/ack.ts'",
    }
    expect(folderCircles(texts)).toEqual(['cli/commands → cli/context.ts → cli/failures → cli/commands'])
  })

  test('a folder and its subfolder that import each other', () => {
    const texts = {
      'cli/mcp/tools.ts': "import './tools/peers.ts'",
      'cli/mcp/tools/peers.ts': "import '../arguments.ts'",
    }
    expect(folderCircles(texts)).toEqual([])
    expect(folderCircles(texts, innerFolder)).toEqual(['cli/mcp → cli/mcp/tools → cli/mcp'])
  })

  test('and does not report imports within a folder, of a shared folder and of other programs', () => {
    const texts = {
      'cli/commands/ack.ts': "import '../terminal/io.ts'\nimport './task/show.ts'",
      'cli/commands/task/show.ts': "import '../ack.ts'\nimport '../../terminal/io.ts'",
      'cli/terminal/io.ts': "import type { A } from '../../sdk/index.ts'",
    }
    expect(folderCircles(texts)).toEqual([])
  })
})
