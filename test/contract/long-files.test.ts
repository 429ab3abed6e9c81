/** The list of long files, which `npm test` leaves out. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { longFiles } from '../support/long-files.ts'

const root = join(import.meta.dirname, '../..')

test('names existing files, each once', () => {
  expect(longFiles.filter((file) => !existsSync(join(root, file)))).toEqual([])
  expect([...new Set(longFiles)].toSorted()).toEqual(longFiles)
})

test('runs in CI by its own script, and `npm test` leaves it out', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Package
  expect(scripts['test:long']).toContain('--project long')
  expect(scripts.test).not.toContain('long')
  expect(readFileSync(join(root, '.ci/run'), 'utf8')).toContain('npm run test:long')
})

interface Package {
  readonly scripts: Readonly<Record<string, string>>
}
