import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

// The end of `.ci/run`: the failed tests with the beginning of their messages, the end of the output of each other failed
// step, then the counts of all steps with a report.
//
//   node .ci/summary.ts 'page agents' /tmp/outputs test=coverage/tests.json page=coverage/page.json
//
// The first argument names the failed steps. The second one is the folder with the output of each step, `page.txt`.

interface Report {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  testResults: {
    name: string
    message: string
    status: string
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[]
  }[]
}

/** Enough of a message to see what was expected; the whole of it stands in the output of the step. */
const messageLines = 12
const shownTests = 20
/** Enough of an output to see an error outside of a test, with its stack and the lines of npm after it. */
const outputLines = 40

const [failedSteps = '', outputs = '', ...steps] = process.argv.slice(2)
const total = { passed: 0, failed: 0, skipped: 0 }
const failures: string[] = []
/** Steps whose report says why they failed. */
const explained = new Set<string>()

for (const step of steps) {
  const [name = '', file = ''] = step.split('=')
  const stepFailed = failedSteps.split(' ').includes(name)
  if (!existsSync(file)) {
    total.failed += stepFailed ? 1 : 0
    continue
  }
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report
  total.passed += report.numPassedTests
  // A test file that does not load fails the run without failing a test.
  total.failed += Math.max(report.numFailedTests, stepFailed ? 1 : 0)
  total.skipped += report.numPendingTests
  failures.push(...failuresOf(name, report))
  // A hook that failed leaves the message of its file empty.
  if (report.numFailedTests > 0 || report.testResults.some(({ message }) => message !== ''))
    explained.add(name)
}

/** The end of the output of a step whose report does not say why it failed. */
function endOfOutput(step: string): string[] {
  const file = join(outputs, `${step}.txt`)
  if (!existsSync(file)) return []
  const lines = stripVTControlCharacters(readFileSync(file, 'utf8')).trimEnd().split('\n')
  return [
    '',
    `step ${step} failed without a failed test. The end of its output:`,
    ...lines.slice(-outputLines),
  ]
}

function failuresOf(step: string, report: Report): string[] {
  return report.testResults.flatMap((file) => {
    const path = relative(process.cwd(), file.name)
    const tests = file.assertionResults.filter((test) => test.status === 'failed')
    if (tests.length === 0) return file.status === 'failed' ? [entry(step, path, '', file.message)] : []
    return tests.map((test) => entry(step, path, test.fullName, test.failureMessages.join('\n')))
  })
}

function entry(step: string, path: string, test: string, message: string): string {
  const beginning = message.split('\n').slice(0, messageLines)
  return [`-- ${step}: ${path} ${test}`, ...beginning.map((line) => `   ${line}`)].join('\n')
}

const lines = failures.length > 0 ? ['', 'failed tests:', ...failures.slice(0, shownTests)] : []
if (failures.length > shownTests) lines.push(`and ${failures.length - shownTests} more`)
for (const step of failedSteps.split(' '))
  if (step !== '' && !explained.has(step)) lines.push(...endOfOutput(step))
if (failedSteps !== '') lines.push('', `failed steps: ${failedSteps}`)
lines.push(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.stdout.write(`${lines.join('\n')}\n`)
