/**
 * The folders of `server/` form layers: base, technology, shared, nouns, program. A folder imports its own layer
 * and lower ones, and no two folders import each other, directly or through others.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { circles } from './circles.ts'
import { folderGraph, missingFolders, upwardImports } from './server-folders.ts'

const root = join(import.meta.dirname, '../..')
const paths = globSync('server/**/*.{ts,tsx}', { cwd: root }).sort()
const files = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))

test('no folder of server imports a folder above it', () => {
  expect(paths.length).toBeGreaterThan(200)
  expect(upwardImports(files)).toEqual([])
})

test('no two folders of server import each other, directly or through others', () => {
  expect(circles(folderGraph(files))).toEqual([])
})

test('every folder in the list of layers exists', () => {
  expect(missingFolders(files)).toEqual([])
})

describe('the check finds', () => {
  test.each([
    [
      'technology that imports the context',
      'server/identity/owner.ts',
      "import type { C } from '../context.ts'",
    ],
    ['technology that imports a noun', 'server/delivery/a.ts', "import { b } from '../inbox/b.ts'"],
    ['a noun that imports a command on the host', 'server/tasks/a.ts', "import { b } from '../host/b.ts'"],
    ['the error type importing technology', 'server/api-error.ts', "import { b } from './http/b.ts'"],
    ['an import() of a higher layer', 'server/route.ts', "const a = () => import('./tasks/a.ts')"],
  ])('%s', (_name, path, text) => {
    expect(upwardImports({ [path]: text })).toHaveLength(1)
  })

  test('two nouns that import each other through different files', () => {
    const texts = {
      'server/agents/actions.ts': "import { a } from '../sessions/store.ts'",
      'server/sessions/actions.ts': "import type { B } from '../agents/store.ts'",
    }
    expect(circles(folderGraph(texts))).toEqual(['agents → sessions → agents'])
  })

  test('three nouns in a circle', () => {
    const texts = {
      'server/a/x.ts': "import '../b/x.ts'",
      'server/b/x.ts': "import '../c/x.ts'",
      'server/c/y.ts': "import '../a/y.ts'",
    }
    expect(circles(folderGraph(texts))).toEqual(['a → b → c → a'])
  })

  test('and does not report imports of lower layers and of neighbours', () => {
    const texts = {
      'server/tasks/a.ts': "import '../agents/a.ts'\nimport '../context.ts'\nimport './b.ts'",
      'server/host/a.ts': "import '../tasks/a.ts'\nimport '../config.ts'",
    }
    expect(upwardImports(texts)).toEqual([])
    expect(circles(folderGraph(texts))).toEqual([])
  })
})
