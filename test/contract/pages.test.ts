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
const pages = globSync(['README.md', '{.github,docs,examples}/**/*.md', 'test/vectors/README.md'], {
  cwd: root,
})
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

test('the protocol page is wrapped at 120 characters', () => {
  expect(tooLong('docs/protocol.md')).toEqual([])
})
