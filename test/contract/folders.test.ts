/**
 * No two folders of `cli/` import each other, directly or through others, and no two of `sdk/`. Type imports and
 * `import()` count too. A file directly in the folder above counts as a folder.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { folderCircles, innerFolder, topFolder } from './folder-circles.ts'

const top = join(import.meta.dirname, '../..')

const filesOf = (root: string): Record<string, string> =>
  Object.fromEntries(
    globSync(`${root}/**/*.ts`, { cwd: top })
      .sort()
      .map((path) => [path, readFileSync(join(top, path), 'utf8')]),
  )

test.each([
  { root: 'cli', files: 200, folders: 15 },
  { root: 'sdk', files: 150, folders: 20 },
  { root: 'sdk/contract', files: 40, folders: 15 },
  { root: 'sdk/resources', files: 25, folders: 8 },
  { root: 'sdk/transfers', files: 15, folders: 6 },
])('no two folders of $root import each other, directly or through others', ({ root, files, folders }) => {
  const texts = filesOf(root)
  const paths = Object.keys(texts)
  expect(paths.length).toBeGreaterThan(files)
  expect(new Set(paths.map((path) => topFolder(root, path))).size).toBeGreaterThan(folders)
  expect(folderCircles(root, texts)).toEqual([])
})

test('nor do two subfolders of cli, or a folder and its subfolder', () => {
  const texts = filesOf('cli')
  expect(new Set(Object.keys(texts).map((path) => innerFolder('cli', path))).size).toBeGreaterThan(30)
  expect(folderCircles('cli', texts, innerFolder)).toEqual([])
})

test.each([
  ['cli', 'cli/commands/send.ts', '../mcp/serve.ts', 'cli/commands → cli/mcp → cli/commands'],
  ['sdk', 'sdk/storage/lock.ts', '../agent/agent-calls.ts', 'sdk/agent → sdk/storage → sdk/agent'],
  [
    'sdk/contract',
    'sdk/contract/endpoint.ts',
    './agent/tasks.ts',
    'sdk/contract/agent → sdk/contract/endpoint.ts → sdk/contract/agent',
  ],
])('the check of %s finds a type import that is added to %s', (root, path, target, circle) => {
  const files = filesOf(root)
  const planted = { ...files, [path]: `import type { A } from '${target}'\n${files[path]}` }
  expect(files).toHaveProperty([path])
  expect(folderCircles(root, planted)).toEqual([circle])
})

describe('the check finds', () => {
  test('two folders that import each other through different files, also by types', () => {
    const texts = {
      'cli/owner/client.ts': "import { a } from '../profile/profile.ts'",
      'cli/profile/agent.ts': "import type { B } from '../owner/text.ts'",
    }
    expect(folderCircles('cli', texts)).toEqual(['cli/owner → cli/profile → cli/owner'])
  })

  test('a circle through a subfolder and a file directly in cli', () => {
    const texts = {
      'cli/commands/task/show.ts': "import '../../context.ts'",
      'cli/context.ts': "const a = () => import('./failures/words.ts')",
      'cli/failures/words.ts': "import '../commands/ack.ts'",
    }
    expect(folderCircles('cli', texts)).toEqual([
      'cli/commands → cli/context.ts → cli/failures → cli/commands',
    ])
  })

  test('a folder and its subfolder that import each other', () => {
    const texts = {
      'cli/mcp/tools.ts': "import './tools/peers.ts'",
      'cli/mcp/tools/peers.ts': "import '../arguments.ts'",
    }
    expect(folderCircles('cli', texts)).toEqual([])
    expect(folderCircles('cli', texts, innerFolder)).toEqual(['cli/mcp → cli/mcp/tools → cli/mcp'])
  })

  test('and does not report imports within a folder, of a shared folder and of other programs', () => {
    const texts = {
      'cli/commands/ack.ts': "import '../terminal/io.ts'\nimport './task/show.ts'",
      'cli/commands/task/show.ts': "import '../ack.ts'\nimport '../../terminal/io.ts'",
      'cli/terminal/io.ts': "import type { A } from '../../sdk/index.ts'",
    }
    expect(folderCircles('cli', texts)).toEqual([])
  })
})
