/**
 * `bridge up`, as real processes: from an empty folder to two agents that talk, and again with what exists.
 * The other commands run in this process.
 */
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { Desk } from '../support/desk.ts'
import { dropDatabase, hostEnvironment, isOnPostgres, makeEmptyDatabase } from '../support/postgres.ts'
import { type Started, TestHome } from '../support/test-home.ts'
import { runHere } from './frame.ts'
import { inTerminal } from './terminal.ts'

interface Up {
  readonly url: string
  readonly running: boolean
  readonly project: { readonly name: string }
  readonly agents: readonly { readonly name: string; readonly prompt?: string; readonly refused?: string }[]
}

let desk: Desk
let home: TestHome
let data: string
let environment: Readonly<Record<string, string>>

beforeEach(async () => {
  desk = await Desk.make()
  home = TestHome.at(desk.folder)
  data = join(home.folder, 'data')
  environment = { ...hostEnvironment(data), USER: 'olu' }
  await makeEmptyDatabase(data)
})
afterEach(async () => {
  await home.remove()
  await dropDatabase(data)
})

async function up(args: readonly string[] = [], stdin = ''): Promise<{ started: Started; made: Up }> {
  const started = home.start(['up', '--json', ...args], { environment })
  started.child.stdin.end(stdin)
  return { started, made: JSON.parse(await started.printed(/\n$/)) as Up }
}

const stop = (started: Started) => {
  started.child.kill('SIGTERM')
  return started.ended
}

const enroll = ({ url, agents }: Up) =>
  Promise.all(
    agents.map(async ({ name, prompt = '' }) => {
      const [, code = ''] = /<<'CODE'\n(\S+)\nCODE/.exec(prompt) ?? []
      return (await desk.run(['enroll', '--url', url, '--profile', name], { stdin: code })).code
    }),
  )

test('one command gives two prompts, whose agents talk; the next finds all of it', async () => {
  const { started, made } = await up(['--port', '0', '--password-stdin'], 'correct horse battery staple\n')
  expect(made).toMatchObject({ running: false, project: { name: 'demo' } })
  expect(made.agents.map(({ name, prompt }) => [name, prompt?.includes(`agent "${name}"`)])).toEqual([
    ['ada', true],
    ['ben', true],
  ])
  // While the node runs, another `up` prints new prompts and ends.
  const { started: second, made: again } = await up()
  expect((await second.ended).code).toBe(0)
  expect(again).toMatchObject({ url: made.url, running: true })
  expect(await enroll(again)).toEqual([0, 0])
  expect(await started.said(/ada has enrolled/)).toContain(`your page, in a browser: ${made.url}\n`)
  await started.said(/ben has enrolled/)

  await desk.run(['session', 'start', '--profile', 'ben'])
  const sent = await desk.run(['send', 'ben', 'Good morning', '--profile', 'ada'])
  expect([sent.code, sent.stderr]).toEqual([0, ''])
  expect((await desk.run(['inbox', '--profile', 'ben'])).stdout).toContain('Good morning')
  expect((await desk.run(['admin', 'whoami'])).stdout).toContain('signed in as olu')
  // Log lines of level info would hide the prompts.
  expect(await stop(started)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('"level":') })

  // The settings of the first start were stored, and enrolled agents get no new prompt.
  const { started: third, made: later } = await up(['--agents', 'ada, cleo', '--log-level', 'info'])
  expect(later.agents.map(({ name, prompt }) => [name, prompt !== undefined])).toEqual([
    ['ada', false],
    ['cleo', true],
  ])

  expect(await stop(third)).toMatchObject({ code: 0, stderr: expect.stringContaining('"level":30') })
})

test('an agent that must not enrol gets no prompt, and the node starts all the same', async () => {
  const { started } = await up(['--port', '0'])
  expect((await desk.run(['admin', 'agent', 'state', 'ben', 'disabled'])).code).toBe(0)
  await stop(started)
  const { started: second, made: again } = await up()
  expect(again.running).toBe(false)
  expect(again.agents.map(({ prompt, refused }) => [prompt !== undefined, refused])).toEqual([
    [true, undefined],
    [false, 'agent_disabled'],
  ])
  expect((await desk.run(['admin', 'project', 'state', 'demo', 'archived'])).code).toBe(0)
  const { started: beside, made: archived } = await up()
  expect((await beside.ended).code).toBe(0)
  expect(archived.agents.map(({ refused }) => refused)).toEqual(['project_archived', 'project_archived'])
  expect(await stop(second)).toMatchObject({ code: 0 })
})

test('three at the same time make one node, and each prints prompts', async () => {
  const all = await Promise.all([1, 2, 3].map(() => up(['--port', '0'])))
  const [first] = all.filter(({ made }) => !made.running)
  expect(all.map(({ made }) => made.running).toSorted()).toEqual([false, true, true])
  expect(new Set(all.map(({ made }) => made.url))).toEqual(new Set([first?.made.url]))
  for (const { started, made } of all) {
    expect(made.agents.map(({ prompt }) => prompt !== undefined)).toEqual([true, true])
    if (started !== first?.started) expect((await started.ended).code).toBe(0)
  }
  expect((await desk.run(['admin', 'whoami'])).stdout).toContain('signed in as olu')
  if (first !== undefined) expect((await stop(first.started)).code).toBe(0)
})

test('on a terminal it asks for the password and shows both prompts and a link that signs in', async () => {
  const exports = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'`)
  const terminal = inTerminal([...exports, 'bridge up --port 0'].join('\n'), join(home.folder, 'terminal'))
  onTestFinished(async () => {
    if (terminal.child.exitCode !== null) return
    terminal.child.kill('SIGTERM')
    await terminal.ended
  })
  const password = 'correct horse battery staple'
  const ask = 'new password of the owner olu, at least 12 characters'
  await terminal.shows(`${ask}: `)
  terminal.type('too short\r')
  await terminal.shows(`it must have at least 12 characters; ${ask}: `)
  terminal.type(`${password}\r`)
  await terminal.shows(`${ask}, again: `)
  terminal.type(`${password}\r`)
  await terminal.shows('control-C stops the node')
  const shown = terminal.sent().replaceAll('\r\n', '\n')
  for (const name of ['ada', 'ben'])
    expect(shown).toMatch(
      new RegExp(
        `^Paste this to the agent ${name}:\n-+\nYou are the agent "${name}" of [\\s\\S]*?^-{72}$`,
        'm',
      ),
    )
  for (const typed of [password, 'too short']) expect(shown).not.toContain(typed)

  const [, link = '', url = ''] =
    /^your page, in a browser: ((http:\/\/127\.0\.0\.1:\d+)\/\S+)$/m.exec(shown) ?? []
  const signIn = async (stdin: string, ...how: readonly string[]) => {
    const { code, stdout } = await desk.run(['admin', 'login', '--url', url, ...how], { stdin })
    return [code, /signed in as \w+/.exec(stdout)?.[0]]
  }
  expect(await signIn(link, '--link')).toEqual([0, 'signed in as olu'])
  expect(await signIn(password, '--name', 'olu', '--password-stdin')).toEqual([0, 'signed in as olu'])
  terminal.type('\u0003')
  expect(await terminal.ended).toBe(0)
})

test('without a terminal the owner gets no password, and a link of the host signs in', async () => {
  const { started, made } = await up(['--port', '0', '--name', 'olu'])
  await started.said(/the owner olu has no password; bridge server owner-link/)
  const link = await desk.run(['server', 'owner-link'], { environment })
  const login = await desk.run(['admin', 'login', '--url', made.url, '--link'], { stdin: link.stdout })
  expect([login.code, login.stdout]).toEqual([0, expect.stringContaining('signed in as olu')])
  await stop(started)
})

test.each([
  ['a short password', ['--password-stdin'], 'short\n', 2, /password/],
  [
    'an agent name that the node refuses',
    ['--agents', `ada,${'x'.repeat(81)}`],
    '',
    2,
    /^the owner has no password;[\s\S]*name/m,
  ],
])('%s is refused, and the node ends', async (_what, args, stdin, code, words) => {
  const nobody = { ...environment, USER: '' }
  const ended = await home.run(['up', '--port', '0', ...args], { environment: nobody, stdin })
  expect([ended.code, ended.stdout]).toEqual([code, ''])
  expect(ended.stderr).toMatch(words)
})

test.skipIf(!isOnPostgres)(
  'another host cannot run the installation of a database without its key',
  async () => {
    const init = await home.run(['server', 'init'], { environment })
    expect(init.code).toBe(0)
    const there = { ...environment, BRIDGE_DATA: join(home.folder, 'other') }
    const ended = await home.run(['up', '--port', '0'], { environment: there })
    expect([ended.code, ended.stdout]).toEqual([7, ''])
    expect(ended.stderr).toMatch(
      /holds an installation already\nhint: .* copy config\.json and envelope\.key/,
    )
  },
)

test('at least one agent is needed', async () => {
  const { code, stderr } = await runHere(['up', '--agents', ' , '])
  expect([code, stderr]).toEqual([2, expect.stringContaining('It must name at least one agent.')])
})
