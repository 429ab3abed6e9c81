/**
 * The examples parse on the oldest Node that `engines` allows. Node 22 has no `using` declarations, and the Node of
 * these tests is newer.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const tooNew = /\busing\s+\w+\s*=/

/** The blocks of JavaScript and TypeScript in a page. */
const blocksOf = (page: string): string[] =>
  [...page.matchAll(/^```(?:js|mjs|javascript|ts)\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)

test('every example script and every code block of the pages parses on Node 22', () => {
  const scripts = globSync('examples/**/*.{mjs,ts}', { cwd: root })
  const pages = globSync(['README.md', '{docs,examples}/**/*.md'], { cwd: root })
  const blocks = pages.flatMap((path) => blocksOf(read(path)).map((text) => [path, text] as const))
  const texts = [...scripts.map((path) => [path, read(path)] as const), ...blocks]
  expect(scripts.length).toBeGreaterThan(10)
  expect(blocks.length).toBeGreaterThan(5)
  expect(texts.filter(([, text]) => tooNew.test(text)).map(([path]) => path)).toEqual([])
})

test('a declaration that Node 22 cannot parse is found', () => {
  expect(blocksOf('```ts\nawait using bridge = await openProfile()\n```\n')[0]).toMatch(tooNew)
})
