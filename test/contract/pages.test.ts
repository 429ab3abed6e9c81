/**
 * Rules for every page.
 *
 * A page describes the present code. *Today* and *yet* refer to a time or version that the reader does not
 * know, and such a sentence is not updated when it becomes false.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const pages = globSync(['{README,CHANGELOG}.md', '{.github,docs,examples}/**/*.md', 'test/{,*/}README.md'], {
  cwd: root,
})
const linesOf = (path: string): string[] => readFileSync(join(root, path), 'utf8').split('\n')

const dated = /\b(?:today|yet)\b/i

test('no page contains "today" or "yet"', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/protocol.md', 'docs/sdk.md']))
  const found = pages.flatMap((path) =>
    linesOf(path).flatMap((line, index) => (dated.test(line) ? [`${path}:${index + 1}: ${line}`] : [])),
  )
  expect(found).toEqual([])
})

test('the check finds a sentence with either word, and not other words with the same letters', () => {
  for (const text of ["It cannot parse today's syntax.", 'Nothing is stored yet.'])
    expect(text).toMatch(dated)
  for (const text of ['`CERT_NOT_YET_VALID`', 'bytes']) expect(text).not.toMatch(dated)
})

const citation = /\b(?:spec|contract) §\d/i

test('no page cites a section of the specification, which its readers do not have', () => {
  const found = pages.flatMap((path) =>
    linesOf(path).flatMap((line, index) => (citation.test(line) ? [`${path}:${index + 1}: ${line}`] : [])),
  )
  expect(found).toEqual([])
  expect('Spec §1, §3; contract §9.').toMatch(citation)
})

/** Tables, code blocks, generated sections and links that fill a line cannot be wrapped. */
function tooLong(path: string): string[] {
  const text = linesOf(path)
    .join('\n')
    .replace(/<!-- generated: [\s\S]*?<!-- end -->|^```[\s\S]*?^```/gm, (part) => part.replace(/[^\n]/g, ''))
  return text
    .split('\n')
    .flatMap((line, index) => (line.length > 120 && !/^\|/.test(line) ? [`${path}:${index + 1}`] : []))
}

/** Generated pages have types and option lists that cannot be wrapped. */
const written = pages.filter((path) => !/^docs\/(api|cli|errors|sdk|states)\.md$/.test(path))

test.each(written)('%s is wrapped at 120 characters', (path) => {
  expect(tooLong(path)).toEqual([])
})

const tracked = globSync('{cli,sdk,server,helper,test,docs,examples}/**/*', { cwd: root })

/**
 * Returns files and folders that a page names in code marks and that do not exist. A bare name matches any
 * file of that name.
 */
function missing(path: string, base = ''): string[] {
  const marked = /`((?:[\w.-]+\/)*[\w.-]+(?:\.ts|\/)|(?:cli|helper|sdk|server|test)(?:\/[\w.-]+)+)`/g
  const names = linesOf(path).flatMap((line) => [...line.matchAll(marked)])
  return names.flatMap(([, name = '']) => {
    const plain = name.replace(/\/$/, '')
    const exists = tracked.some(
      (each) => each === `${base}${plain}` || each === plain || each.endsWith(`/${plain}`),
    )
    return exists ? [] : [`${path}: ${name}`]
  })
}

test('the pages for contributors name existing files', () => {
  expect(missing('docs/architecture.md')).toEqual([])
  expect(missing('.github/CONTRIBUTING.md')).toEqual([])
  expect(missing('test/README.md', 'test/')).toEqual([])
})

test('docs/agents.md names existing files and tests', () => {
  expect(missing('docs/agents.md')).toEqual([])
  const source = globSync('test/{harness,cli/hooks}/**/*.ts', { cwd: root })
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n')
  const page = linesOf('docs/agents.md').join('\n')
  const names = [...page.matchAll(/`([^`\n/]+)`/g)].map(([, name = '']) => name.replace(/ …$/, ''))
  const tests = names.filter((name) => /^(?:an?|mail) (?:\S+ ){4}/.test(name))
  expect(tests.length).toBeGreaterThan(3)
  expect(tests.filter((name) => !source.includes(name))).toEqual([])
})

test('the settings that docs/agents.md shows can be parsed, and start the tools of a profile', () => {
  const page = linesOf('docs/agents.md').join('\n')
  const blocks = [...page.matchAll(/^```(json|toml)\n([\s\S]*?)^```$/gm)]
  expect(blocks.length).toBeGreaterThan(2)
  for (const [, language, text = ''] of blocks) {
    const settings = language === 'json' ? JSON.parse(text) : parse(text)
    expect(JSON.stringify(settings)).toMatch(/\/bridge"[^{}]*"mcp","--profile","ada"/)
  }
})

test('the check finds a missing file and a missing folder', () => {
  expect(missing('test/contract/pages.fixture.md')).toEqual([
    'test/contract/pages.fixture.md: server/nowhere.ts',
    'test/contract/pages.fixture.md: server/nowhere/else',
  ])
})
