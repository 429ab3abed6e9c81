/**
 * No two source files import each other, directly or through others. Type imports and `import()` count too: a
 * reader follows them, so a cycle has no first file. And the modules that the client loads at once.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { circles } from './circles.ts'
import { parseSource } from './source-imports.ts'

const root = join(import.meta.dirname, '../..')

/** `texts` maps each path to its source. */
const circlesOf = (texts: Readonly<Record<string, string>>): string[] =>
  circles(
    new Map(
      Object.entries(texts).map(([path, text]) => [
        path,
        parseSource(path, text).imports.map((each) => each.target),
      ]),
    ),
  )

test('no file of cli, sdk, server and helper is in an import cycle', () => {
  const paths = globSync('{cli,sdk,server,helper}/**/*.{ts,tsx}', { cwd: root }).sort()
  expect(paths.length).toBeGreaterThan(500)
  expect(
    circlesOf(Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))),
  ).toEqual([])
})

test('the client loads the modules for the content of files only when a command needs them', () => {
  const atOnce = new Set<string>()
  const load = (path: string) => {
    if (!path.startsWith('sdk/') || atOnce.has(path)) return
    atOnce.add(path)
    const { imports } = parseSource(path, readFileSync(join(root, path), 'utf8'))
    for (const { target, kind, isType } of imports) if (kind !== 'lazy' && !isType) load(target)
  }
  load('sdk/program.ts')
  expect(atOnce.size).toBeGreaterThan(100)
  expect([...atOnce].filter((path) => /^sdk\/(parts|transfers)\//.test(path))).toEqual([])
})

describe('the check finds a cycle', () => {
  test.each([
    ['of two files', "import { b } from './b.ts'", "import { a } from './a.ts'"],
    ['of types', "import type { B } from './b.ts'", "import { type A } from './a.ts'"],
    ['closed by import()', "import { b } from './b.ts'", "export const a = () => import('./a.ts')"],
    ['closed by the type of an import()', "export * from './b.ts'", "export type A = import('./a.ts').A"],
  ])('%s', (_name, a, b) => {
    expect(circlesOf({ 'sdk/a.ts': a, 'sdk/b.ts': b })).toEqual(['sdk/a.ts → sdk/b.ts → sdk/a.ts'])
  })

  test('behind files that are in none', () => {
    const texts = {
      'cli/main.ts': "import './a.ts'",
      'cli/a.ts': "import './b.ts'\nimport './c.ts'",
      'cli/b.ts': "import './c.ts'",
      'cli/c.ts': "import './b.ts'",
    }
    expect(circlesOf(texts)).toEqual(['cli/b.ts → cli/c.ts → cli/b.ts'])
  })

  test('and does not report a file that two others import', () => {
    const texts = {
      'cli/a.ts': "import './b.ts'\nimport './c.ts'",
      'cli/b.ts': "import './c.ts'",
      'cli/c.ts': '',
    }
    expect(circlesOf(texts)).toEqual([])
  })
})
