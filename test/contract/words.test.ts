/**
 * Files are short, and comments stay readable for somebody who has never seen the project.
 *
 * A folder may hold a small share of sentences that look like riddles and are none, such as a quotation or a list.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sentencesOf, worthASecondLook } from './words.ts'

const root = join(import.meta.dirname, '../..')
const linesOfAFile = 400

/** Returns the hand-written files that have more lines than a reader keeps in mind. */
const tooLong = (files: Readonly<Record<string, string>>): string[] =>
  Object.entries(files).flatMap(([path, text]) => {
    const lines = text.split('\n').length - 1
    return lines > linesOfAFile ? [`${path} has ${lines} lines: split it`] : []
  })

test(`no source file has more than ${linesOfAFile} lines`, () => {
  const paths = globSync(
    ['*.ts', '{cli,docs,examples,helper,sdk,server,test}/**/*.{ts,tsx,js,mjs,css,py,sh}'],
    { cwd: root, exclude: (name) => name === 'node_modules' },
  )
  expect(paths).toEqual(expect.arrayContaining(['vitest.config.ts', 'server/portal/page/app.tsx']))
  const files = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
  expect(tooLong(files)).toEqual([])
  const sample = { 'sdk/a.ts': 'a\n'.repeat(linesOfAFile), 'sdk/b.ts': 'a\n'.repeat(linesOfAFile + 1) }
  expect(tooLong(sample)).toEqual([`sdk/b.ts has ${linesOfAFile + 1} lines: split it`])
})

const folders = ['cli', 'docs', 'examples', 'helper', 'sdk', 'server', 'test'] as const
const mostOfAHundred = 4

test.each(folders)('at most 4 of 100 sentences in the comments of %s are worth a second look', (folder) => {
  const sources = globSync(`${folder}/**/*.{ts,tsx,mjs}`, { cwd: root })
  let sentences = 0
  const found: string[] = []
  for (const path of sources) {
    const text = readFileSync(join(root, path), 'utf8')
    sentences += sentencesOf(text).length
    for (const { line, reason, sentence } of worthASecondLook(text))
      found.push(`${path}:${line} ${reason}: ${sentence}`)
  }
  expect(sources.length).toBeGreaterThan(0)
  const most = Math.ceil((sentences * mostOfAHundred) / 100)
  expect(
    found.length,
    `${found.length} of ${sentences}, at most ${most}:\n${found.join('\n')}`,
  ).toBeLessThanOrEqual(most)
})

describe('a sentence is worth a second look', () => {
  test.each([
    ['What was stopped is refused by its state.', 'opens with "What"'],
    ['Nobody reads the body before the head.', 'opens with "Nobody"'],
    ['The sender is told when the upload ends.', 'says "is told"'],
    ['The lease is over when the clock says so.', 'says "is over"'],
    ['It reads: the head; then the body follows: it ends.', 'has two semicolons or colons'],
    [`The node reads ${'a long list of '.repeat(8)}things.`, 'has 36 words'],
  ])('%s', (sentence, reason) => {
    for (const source of [`/** ${sentence} */`, `  // ${sentence}`, `/**\n * ${sentence}\n */`])
      expect(worthASecondLook(source).map((found) => found.reason)).toEqual([expect.stringContaining(reason)])
  })

  test('but not a plain one, nor code', () => {
    const source = "/** The node refuses a second upload. */\nconst text = 'What is over, whoever says it.'\n"
    expect(worthASecondLook(source)).toEqual([])
  })
})
