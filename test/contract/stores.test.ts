/** The marks of tests that run on SQLite only. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { leftOut, marksIn } from '../support/sqlite-only-files.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const marks = marksIn(root)

test('each mark names an existing test that runs on PostgreSQL', () => {
  expect(marks.length).toBeGreaterThan(5)
  const out = leftOut(root, 'postgres')
  const wrong = marks.filter(({ shownBy }) => !existsSync(`${root}/${shownBy}`) || out.includes(shownBy))
  expect(wrong).toEqual([])
})

test('a marked file is left out on PostgreSQL only, and a file with marked tests is not', () => {
  const whole = marks.filter(({ isWholeFile }) => isWholeFile).map(({ file }) => file)
  expect(leftOut(root, 'postgres')).toEqual(whole)
  expect(leftOut(root, undefined)).toEqual([])
  expect(new Set(whole).size).toBe(whole.length)
  expect(whole).not.toContain('test/server/owner-inbox.test.ts')
})
