/** `bridge run` while the node or the credential is at fault: the harness starts, and its hooks say nothing. */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { testClock } from '../../support/clock.ts'
import { Desk } from '../../support/desk.ts'
import { type Answer, type FakeNode, refuse, startNode } from '../../support/fake-node.ts'
import { enrolled } from '../../support/profiles.ts'
import { TestHome } from '../../support/test-home.ts'
import { programIn } from './programs.ts'

let bridge: TestBridge
let desk: Desk
let machine: TestHome

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  machine = TestHome.at(desk.folder)
})
afterAll(async () => {
  await machine.remove()
  await bridge.close()
})

/** Runs the hooks of its plugin folder one event after the other, reports what they did, and exits with 7. */
const harness = `
const { spawn } = require('node:child_process')
const { readFileSync } = require('node:fs')
if (process.argv[2] === '--version') { console.log('2.1.330 (Claude Code)'); process.exit() }
const folder = process.argv[process.argv.indexOf('--plugin-dir') + 1]
const { hooks } = JSON.parse(readFileSync(folder + '/hooks/hooks.json', 'utf8'))
const env = { ...process.env, CLAUDE_CODE_ENTRYPOINT: 'cli', CLAUDE_PID: String(process.pid) }
const run = (event, { command, args, asyncRewake }) => new Promise((resolve) => {
  if (asyncRewake && event !== process.env.WITH_WAITER) return resolve([])
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => { printed += text })
  child.stdin.end(JSON.stringify({ session_id: 's' + process.pid, cwd: '/', hook_event_name: event }))
  child.on('close', (code) => resolve([[args.at(-1), code, printed]]))
})
const runAll = async () => {
  const ran = []
  for (const event of ['SessionStart', 'UserPromptSubmit', 'Stop'])
    ran.push(...(await Promise.all(hooks[event].flatMap((group) => group.hooks.map((hook) => run(event, hook))))).flat())
  console.log(JSON.stringify(ran.sort()))
  process.exit(7)
}
runAll()
`
const silent = [
  ['SessionStart', 0, ''],
  ['Stop', 0, ''],
  ['UserPromptSubmit', 0, ''],
]
const silentWaiter = [...silent, ['wait', 0, '']]

async function startOnce(profile: string, more: Readonly<Record<string, string>> = {}) {
  const environment = { ...(await programIn(desk, 'claude', harness)), ...more }
  const { code, stdout, stderr } = await machine.run(['run', 'claude', '--profile', profile], { environment })
  return { code, stderr, hooks: stdout === '' ? [] : JSON.parse(stdout) }
}

/** Starts the harness again while the node does not answer in time on a busy machine. `node` hears the last start. */
async function start(profile: string, more: Readonly<Record<string, string>> = {}, node?: FakeNode) {
  for (let again = 0; ; again += 1) {
    node?.heard.splice(0)
    const started = await startOnce(profile, more)
    if (again === 5 || !started.stderr.includes('did not answer within')) return started
  }
}

const profilePath = (profile: string) => desk.path(profile, 'profile.json')

async function pointTo(profile: string, url: string): Promise<void> {
  const record = JSON.parse(await readFile(profilePath(profile), 'utf8'))
  await writeFile(profilePath(profile), JSON.stringify({ ...record, base_url: url }))
}

async function fake(answer: Answer): Promise<FakeNode> {
  const node = await startNode(answer)
  onTestFinished(() => node.close())
  return node
}

test('a node that is stopped', async () => {
  await enrolled(bridge, desk, 'ann')
  await pointTo('ann', 'http://127.0.0.1:1')
  expect(await start('ann')).toEqual({
    code: 7,
    stderr: expect.stringMatching(
      /^bridge: Claude Code starts, but gets no mail: .*127\.0\.0\.1:1.*\nhint: is the node running.*\n$/,
    ),
    hooks: silent,
  })
})

test('a node that does not answer', async () => {
  await enrolled(bridge, desk, 'bob')
  const node = await fake(() => {})
  await pointTo('bob', node.url)
  expect(await startOnce('bob')).toEqual({
    code: 7,
    stderr:
      'bridge: Claude Code starts, but gets no mail: the node did not answer within 2 seconds\n' +
      'hint: notices begin when it answers; bridge doctor --profile bob shows more\n',
    hooks: silent,
  })
  // One of bridge run, and at most two of each hook.
  expect(node.heard.length).toBeLessThanOrEqual(7)
})

test('a revoked credential: the waiter ends too', async () => {
  await enrolled(bridge, desk, 'cleo')
  const { identity } = JSON.parse(await readFile(profilePath('cleo'), 'utf8'))
  await bridge.owner.revoke(bridge.project.id, identity.credential_id)
  expect(await start('cleo', { WITH_WAITER: 'Stop' })).toEqual({
    code: 7,
    stderr: expect.stringMatching(
      /^bridge: Claude Code starts, but gets no mail: .*revoked.*\nhint: stop here; the owner can enrol this agent again\n$/,
    ),
    hooks: silentWaiter,
  })
})

test('a session that another instance took over: the waiter ends too', async () => {
  const dora = await enrolled(bridge, desk, 'dora')
  await dora.lines('session', 'start')
  const other = await Desk.make()
  onTestFinished(() => other.remove())
  await cp(desk.home, other.home, { recursive: true })
  const { grant } = await bridge.owner.takeover(bridge.project.id, dora.id)
  const grants = ['session', 'start', '--takeover-grant-stdin', '--profile', 'dora']
  expect(await other.run(grants, { stdin: grant })).toMatchObject({ code: 0 })
  expect(await start('dora', { WITH_WAITER: 'Stop' })).toEqual({
    code: 7,
    stderr: expect.stringMatching(
      /^bridge: Claude Code starts, but gets no mail: .*\nhint: another instance took over: .*\n$/,
    ),
    hooks: silentWaiter,
  })
})

test('a clock that differs: corrected by the node, or named if that does not help', async () => {
  const ahead = await startBridge({ clock: testClock(new Date(Date.now() + 3_600_000)) })
  onTestFinished(() => ahead.close())
  const { id } = await enrolled(ahead, desk, 'eve')
  await ahead.owner.message(ahead.project.id, id, 'mail')
  const first = async () => {
    const { code, stderr, hooks } = await start('eve')
    return [code, stderr, JSON.stringify(hooks)]
  }
  // On a busy machine no hook may hear the node in its time. The next start is another session.
  await expect.poll(first, { timeout: 240_000 }).toEqual([7, '', expect.stringContaining('owner 1')])

  const node = await fake((_heard, _nth, response) =>
    refuse(response, 401, 'clock_skew', { server_time: '2030-01-01T00:00:00.000Z' }),
  )
  await pointTo('eve', node.url)
  expect(await start('eve', {}, node)).toEqual({
    code: 7,
    stderr: expect.stringMatching(
      /^bridge: Claude Code starts, but gets no mail: .*\nhint: set this machine's clock.*\n$/,
    ),
    hooks: silent,
  })
  expect(node.heard.length).toBeLessThanOrEqual(14)
})

test('a profile that can work: nothing is said', async () => {
  await enrolled(bridge, desk, 'fay')
  expect(await start('fay')).toEqual({ code: 7, stderr: '', hooks: silent })
})
