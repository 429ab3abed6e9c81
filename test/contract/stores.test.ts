/** The marks of tests that run on one store only. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { leftOut, sqliteMarksIn } from '../support/one-store-files.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const marks = sqliteMarksIn(root)

test('each mark names an existing test that runs on PostgreSQL', () => {
  expect(marks.length).toBeGreaterThan(5)
  const out = leftOut(root, 'postgres')
  const wrong = marks.filter(({ shownBy }) => !existsSync(`${root}/${shownBy}`) || out.includes(shownBy))
  expect(wrong).toEqual([])
})

test('a marked file is left out on PostgreSQL only, and a file with marked tests is not', () => {
  const whole = marks.filter(({ isWholeFile }) => isWholeFile).map(({ file }) => file)
  expect(leftOut(root, 'postgres')).toEqual(whole)
  expect(new Set(whole).size).toBe(whole.length)
  expect(whole).not.toContain('test/server/owner-inbox.test.ts')
})

test('a run on SQLite leaves out only faults of PostgreSQL servers, and the run on PostgreSQL has them', () => {
  const out = leftOut(root, undefined)
  expect(out).toContain('test/faults/postgres/full-disk.test.ts')
  expect(out.filter((file) => !/^test\/faults\/(postgres|cluster)\//.test(file))).toEqual([])
  expect(leftOut(root, 'postgres').filter((file) => out.includes(file))).toEqual([])
})

/** Words of a file that makes the database of a data folder, or marks what it does on SQLite. */
const usesStore = /\b(makeEmptyDatabase|BRIDGE_DATABASE_URL|onSqlite|sqliteOnly)\b/
const makesInstallation = /'server', 'init'|\['up'/

test('a file that makes an installation by a command makes it in the store of the run', () => {
  const files = globSync('test/{cli,faults,helper,journeys,sdk,server,transcripts}/**/*.test.ts', {
    cwd: root,
  })
  const making = files.filter((file) => makesInstallation.test(readFileSync(`${root}/${file}`, 'utf8')))
  expect(making).toContain('test/cli/up.test.ts')
  // The client package has no server, and files of PostgreSQL name a database of their own.
  const others = making.filter((file) => !/\/postgres\/|\/client\.test\.ts$/.test(file))
  expect(others.filter((file) => !usesStore.test(readFileSync(`${root}/${file}`, 'utf8')))).toEqual([])
})
