/**
 * What every page keeps, whoever writes it.
 *
 * A page describes what the code does. *Today* and *yet* point to a time or to a version that the reader does not know, and
 * nobody comes back to such a sentence when it stops being true.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const pages = globSync(
  ['README.md', '{.github,docs,examples}/**/*.md', 'test/README.md', 'test/vectors/README.md'],
  {
    cwd: root,
  },
)
const linesOf = (path: string): string[] => readFileSync(join(root, path), 'utf8').split('\n')

const dated = /\b(?:today|yet)\b/i

test('no page says "today" or "yet"', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/protocol.md', 'docs/sdk.md']))
  const found = pages.flatMap((path) =>
    linesOf(path).flatMap((line, index) => (dated.test(line) ? [`${path}:${index + 1}: ${line}`] : [])),
  )
  expect(found).toEqual([])
})

test('a sentence with either word is seen, one that holds the letters is not', () => {
  for (const text of ["It cannot parse today's syntax.", 'Nothing is stored yet.'])
    expect(text).toMatch(dated)
  for (const text of ['`CERT_NOT_YET_VALID`', 'bytes']) expect(text).not.toMatch(dated)
})

/** A table, a block of code, a generated section and a link that fills its line cannot be wrapped. */
function tooLong(path: string): string[] {
  const text = linesOf(path)
    .join('\n')
    .replace(/<!-- generated: [\s\S]*?<!-- end -->|^```[\s\S]*?^```/gm, (part) => part.replace(/[^\n]/g, ''))
  return text
    .split('\n')
    .flatMap((line, index) => (line.length > 120 && !/^\|/.test(line) ? [`${path}:${index + 1}`] : []))
}

/** Generated pages hold types and option lists that cannot be wrapped. */
const written = pages.filter((path) => !/^docs\/(api|cli|errors|sdk|states)\.md$/.test(path))

test.each(written)('%s is wrapped at 120 characters', (path) => {
  expect(tooLong(path)).toEqual([])
})

const tracked = globSync('{cli,sdk,server,helper,test,docs,examples}/**/*', { cwd: root })

/** Files and folders that a page names in code marks, and that do not exist. A bare name stands for any file of that name. */
function missing(path: string, base = ''): string[] {
  const names = linesOf(path).flatMap((line) => [...line.matchAll(/`((?:[\w.-]+\/)*[\w.-]+(?:\.ts|\/))`/g)])
  return names.flatMap(([, name = '']) => {
    const plain = name.replace(/\/$/, '')
    const exists = tracked.some(
      (each) => each === `${base}${plain}` || each === plain || each.endsWith(`/${plain}`),
    )
    return exists ? [] : [`${path}: ${name}`]
  })
}

test('the pages for contributors name files that exist', () => {
  expect(missing('docs/architecture.md')).toEqual([])
  expect(missing('.github/CONTRIBUTING.md')).toEqual([])
  expect(missing('test/README.md', 'test/')).toEqual([])
})

test('a file that does not exist is found', () => {
  expect(missing('test/contract/pages.fixture.md')).toEqual([
    'test/contract/pages.fixture.md: server/nowhere.ts',
  ])
})
