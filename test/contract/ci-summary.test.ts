/** The end of a run of `.ci/run` names what failed: a test, or the output of a step that failed without one. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'summary-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface File {
  readonly message?: string
  readonly status?: string
  readonly failed?: string
}

const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`)

/** The lines at the end of a run with one step, `page`, that has a report of one file. */
function summary(failedSteps: string, { message = '', status = 'passed', failed }: File = {}): string[] {
  const assertionResults = [
    { fullName: 'one that passes', status: 'passed', failureMessages: [] },
    ...(failed === undefined
      ? []
      : [{ fullName: failed, status: 'failed', failureMessages: ['expected 1 to be 2'] }]),
  ]
  const report = {
    ...{ numPassedTests: 1, numFailedTests: assertionResults.length - 1, numPendingTests: 0 },
    testResults: [{ name: join(root, 'test/x.test.ts'), message, status, assertionResults }],
  }
  writeFileSync(join(folder, 'page.json'), JSON.stringify(report))
  writeFileSync(
    join(folder, 'page.txt'),
    `${lines(60).join('\n')}\n\u001B[31mUnhandled Rejection\u001B[39m\n\n`,
  )
  const words = ['.ci/summary.ts', failedSteps, folder, `page=${join(folder, 'page.json')}`]
  return execFileSync(process.execPath, words, { cwd: root, encoding: 'utf8' }).trimEnd().split('\n')
}

test('a run without a failure is counted', () => {
  expect(summary('')).toEqual(['1 passed, 0 failed, 0 skipped'])
})

test('a failed test is named, without the output of its step', () => {
  expect(summary('page', { failed: 'adds', status: 'failed' })).toEqual([
    ...['', 'failed tests:', '-- page: test/x.test.ts adds', '   expected 1 to be 2'],
    ...['', 'failed steps: page', '1 passed, 1 failed, 0 skipped'],
  ])
})

test('a step that failed without a failed test has the last 40 lines of its output', () => {
  const found = summary('page')
  expect(found.slice(0, 2)).toEqual(['', 'step page failed without a failed test. The end of its output:'])
  expect(found.slice(2, -3)).toEqual([...lines(60).slice(-39), 'Unhandled Rejection'])
  expect(found.slice(-3)).toEqual(['', 'failed steps: page', '1 passed, 1 failed, 0 skipped'])
})

test('a file whose hook failed is named, with the output of its step', () => {
  const found = summary('page', { status: 'failed' })
  expect(found).toContain('-- page: test/x.test.ts ')
  expect(found).toContain('Unhandled Rejection')
})

test('a file that does not load is named with its message', () => {
  const found = summary('page', { status: 'failed', message: 'Cannot find module' })
  expect(found).toContain('   Cannot find module')
  expect(found).not.toContain('Unhandled Rejection')
})

test('a step without a report has the end of its output', () => {
  writeFileSync(join(folder, 'docs.txt'), 'docs differ\n')
  expect(summary('docs')).toContain('docs differ')
})

test('a step keeps its output and its exit code, and waits for no process that it leaves behind', () => {
  const step = /^step\(\) \{\n[\s\S]*?^\}$/m.exec(readFileSync(join(root, '.ci/run'), 'utf8'))?.[0]
  const script = `set -uo pipefail
    outputs=${folder} failed=()
    ${step}
    bad() { echo to stdout; echo to stderr >&2; sleep 60 & echo "$!" >${folder}/left; return 3; }
    good() { echo fine; }
    step bad bad
    step good good
    kill "$(cat ${folder}/left)"
    echo "failed: \${failed[*]}"`
  const begun = performance.now()
  const { stdout, status } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  expect(performance.now() - begun).toBeLessThan(50_000)
  expect(status).toBe(0)
  expect(stdout).toMatch(/== bad\nto stdout\nto stderr\n== bad: FAILED, \d+ s\n\n== good\nfine\n== good: ok/)
  expect(stdout).toMatch(/failed: bad\n$/)
  expect(readFileSync(join(folder, 'bad.txt'), 'utf8')).toBe('to stdout\nto stderr\n')
})
