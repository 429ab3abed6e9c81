/** The commands in the console blocks of the README and of docs/by-hand.md, run exactly, print the shown output. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { installPackage } from '../support/installed.ts'
import { dropDatabase, hostEnvironment, isOnPostgres, makeEmptyDatabase } from '../support/postgres.ts'
import { program } from '../support/program.ts'
import { matches, type Running, readSteps, run } from './transcript.ts'

const root = join(import.meta.dirname, '..', '..')

/** The values that later commands take from earlier output, by the words that stand for them. */
const sources: readonly [string, RegExp][] = [
  ['(the link that server init printed)', /^(http\S+#\S+)$/m],
  ['(the code from the prompt)', /<<'CODE'\n(\S+)\nCODE/],
  ['(the prompt of ada)', /^Paste this to the agent ada:\n-+\n([\s\S]+?)\n-{72}$/m],
  ['(the prompt of ben)', /^Paste this to the agent ben:\n-+\n([\s\S]+?)\n-{72}$/m],
  ['(id of the message)', /^stored (\S+) as number/m],
  ['(id of the task)', /^created (\S+): open$/m],
  ['(id of the transfer)', /^offered as (\S+)$/m],
]

/** Writes the README's script into a folder with the installed package. */
function scriptIn(folder: string): string {
  const [, script = ''] = /```js\n([\s\S]+?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  installPackage(folder)
  writeFileSync(join(folder, 'talk.mjs'), script)
  return join(folder, 'talk.mjs')
}

interface Replayed {
  readonly folder: string
  /** Starts a command line. */
  readonly start: (command: string) => Running
  /** Runs `npx bridge` for a profile to its end. */
  readonly as: (profile: string, command: string) => Promise<string>
  /** Milliseconds from the first command of the page to the output of the first one that begins like this. */
  readonly msUntil: (command: string) => number
}

/** Runs the commands of a page in a home of its own, then `afterwards` beside the node that still runs. */
async function replay(page: string, afterwards: (replayed: Replayed) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-readme-'))
  const port = await freePort()
  const values = new Map<string, string>()
  const running: Running[] = []
  await makeEmptyDatabase(join(folder, 'data'))
  const fill = (text: string) => {
    let filled = text.replaceAll('8484', String(port))
    for (const [words, value] of values) filled = filled.replaceAll(words, value)
    return filled
  }
  const typed = (text: string) => fill(text).replaceAll('npx bridge', `"${process.execPath}" "${program}"`)
  const inherited = Object.entries(process.env).filter(([name]) => !/^(BRIDGE|XDG)_/.test(name))
  const env = {
    ...Object.fromEntries(inherited),
    HOME: folder,
    // On SQLite the data folder is the usual one.
    ...(isOnPostgres && hostEnvironment(join(folder, 'data'))),
    BRIDGE_PORT: String(port),
    // The variables that npx sets.
    npm_command: 'exec',
    npm_lifecycle_event: 'npx',
  }
  const start = (command: string, expected = '') => {
    const started = run({ command: typed(command), expected }, env, root)
    running.push(started)
    return started
  }
  const as = async (profile: string, command: string) => {
    const started = start(`npx bridge ${command} --profile ${profile}`)
    await once(started.child, 'close')
    return started.printed()
  }
  const beganAt = performance.now()
  const shownAfter: [command: string, ms: number][] = []
  const msUntil = (command: string) =>
    shownAfter.find(([typed]) => typed.startsWith(command))?.[1] ?? Number.POSITIVE_INFINITY
  try {
    for (const step of readSteps(readFileSync(join(root, page), 'utf8'))) {
      const started = start(step.command, fill(step.expected))
      await started.shown
      shownAfter.push([step.command, performance.now() - beganAt])
      const printed = started.printed()
      for (const [words, pattern] of sources) {
        const value = pattern.exec(printed)?.[1]
        if (value !== undefined) values.set(words, value)
      }
      expect(
        matches(fill(step.expected), printed),
        `$ ${step.command}\nprinted:\n${printed}\nexpected:\n${step.expected}`,
      ).toBe(true)
    }
    await afterwards({ folder, start, as, msUntil })
  } finally {
    for (const { child } of running) {
      if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'close')
    }
    rmSync(folder, { recursive: true, force: true })
    await dropDatabase(join(folder, 'data'))
  }
}

test('the commands of the README print the output that it shows', () =>
  replay('README.md', async ({ folder, start, as, msUntil }) => {
    // From nothing to the first message, in three commands: less than a minute, without the time of typing.
    expect(msUntil('npx bridge send owner')).toBeLessThan(60_000)
    const script = start(`"${process.execPath}" "${scriptIn(folder)}"`)
    const asked = /^question from agent ada .*\nid (\S+),/m
    await expect.poll(() => as('ben', 'inbox')).toMatch(asked)
    const question = asked.exec(await as('ben', 'inbox'))?.[1] ?? ''
    await as('ben', "send ada 'by the way'")
    await as('ben', `reply ${question} 'release-2'`)
    if (script.child.exitCode === null) await once(script.child, 'close')
    expect(script.printed()).toBe('ben: release-2\n')
    // The script used the session of the profile, so later commands still work in it, and it acknowledged the
    // answer only.
    const left = await as('ada', 'inbox')
    expect(left).toContain('| by the way')
    expect(left).toContain('received and verified by ben: README.md')
    expect(left).not.toContain('release-2')
  }))

test('the commands of docs/by-hand.md print the output that it shows, and two agents can talk', () =>
  replay('docs/by-hand.md', async ({ as }) => {
    await as('ben', 'session start')
    expect(await as('ada', "send ben 'hello'")).toMatch(/^stored /)
  }))

test('a step with another output does not match', () => {
  expect(matches('stored … as number 1', 'stored 4f as number 1')).toBe(true)
  expect(matches('stored … as number 1', 'stored 4f as number 12')).toBe(false)
  expect(matches('one\n…\ntwo', 'one\nand\n')).toBe(false)
})
