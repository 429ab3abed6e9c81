/** Hooks that fail: exit 0, no output, one line in the log. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { appendLog, readLog } from '../../../cli/hooks/hook-log.ts'
import { homeLog, placesOf } from '../../../cli/hooks/places.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { type Answer, answerJson, refuse, startNode } from '../../support/fake-node.ts'
import { enrolled } from '../../support/profiles.ts'
import { TestHome } from '../../support/test-home.ts'
import { HookFrame } from './frame.ts'

let bridge: TestBridge
let desk: Desk
let frame: HookFrame
let record: object
let mail: object

const nothing = { exit: 0, stdout: '', stderr: '' }
const profilePath = () => desk.path('cleo', 'profile.json')

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  const { id } = await enrolled(bridge, desk, 'cleo')
  await desk.run(['inbox', '--profile', 'cleo'])
  await bridge.owner.message(bridge.project.id, id, 'mail that a working hook would tell of')
  const { messages } = await desk.json<{ messages: object[] }>(['inbox', '--profile', 'cleo'])
  mail = messages[0] ?? {}
  record = JSON.parse(readFileSync(profilePath(), 'utf8'))
  frame = new HookFrame(desk.home, 'cleo', { sessionId: 's1' })
})
afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

/** Runs the test against another node; the log is empty before. */
function at(url: string): void {
  writeFileSync(profilePath(), JSON.stringify({ ...record, base_url: url }))
  onTestFinished(() => writeFileSync(profilePath(), JSON.stringify(record)))
  frame.removeLog()
}

async function fake(answer: Answer): Promise<void> {
  const node = await startNode(answer)
  onTestFinished(() => node.close())
  at(node.url)
}

const refusing =
  (status: number, code: string, more = {}): Answer =>
  (_heard, _nth, response) =>
    refuse(response, status, code, more)

test.each<[string, Answer]>([
  ['unauthenticated', refusing(401, 'unauthenticated')],
  ['credential_revoked', refusing(401, 'credential_revoked')],
  ['session_fenced', refusing(409, 'session_fenced')],
  ['clock_skew', refusing(401, 'clock_skew', { server_time: '2030-01-01T00:00:00.000Z' })],
  ['project_archived', refusing(409, 'project_archived')],
  ['bad_response', (_heard, _nth, response) => void response.end('<html>a proxy</html>')],
])('a node that answers %s', async (code, answer) => {
  await fake(answer)
  for (const event of ['SessionStart', 'UserPromptSubmit', 'Stop'])
    expect(await frame.run('claude', event)).toEqual(nothing)
  expect(frame.log.map(({ event, outcome, failed }) => [event, outcome, failed])).toEqual([
    ['SessionStart', code, true],
    ['UserPromptSubmit', code, true],
    ['Stop', code, true],
  ])
})

test('a node that is stopped', async () => {
  at('http://127.0.0.1:1')
  expect(await frame.run('claude', 'Stop')).toEqual(nothing)
  expect(frame.log).toMatchObject([
    { harness: 'claude', event: 'Stop', outcome: 'unreachable', failed: true },
  ])
})

test('a node that does not answer: the program gives up before 3 seconds', async () => {
  await fake(() => {})
  const environment = {
    CLAUDE_CODE_ENTRYPOINT: 'cli',
    BRIDGE_PROFILE: 'cleo',
    CLAUDE_PID: String(process.pid),
  }
  const options = { stdin: JSON.stringify({ session_id: 's1', cwd: '/' }), environment }
  const gaveUpAfterMs = async () => {
    frame.removeLog()
    const ended = await TestHome.at(desk.folder).run(['hooks', 'run', 'claude', 'Stop'], options)
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
    const [line, ...more] = frame.log
    expect(more).toEqual([])
    expect(line).toMatchObject({ event: 'Stop', failed: true, outcome: 'deadline' })
    expect(line?.ms).toBeGreaterThan(2500)
    return line?.ms
  }
  // On a busy machine the process may stand still meanwhile, and then the test runs it again.
  await expect.poll(gaveUpAfterMs, { timeout: 240_000 }).toBeLessThan(2950)
})

test.each([
  ['empty', ''],
  ['no JSON', '{"session_id": "s1"'],
  ['a list', '[]'],
  ['without a session', '{"cwd": "/"}'],
  ['with a session that is no file name', '{"session_id": "../../x"}'],
])('standard input that is %s', async (_what, stdin) => {
  at(bridge.url)
  for (const harness of ['claude', 'codex', 'gemini', 'opencode', 'copilot'])
    expect(
      await frame.run(harness, harness === 'opencode' ? 'session.idle' : 'SessionStart', {}, { stdin }),
    ).toEqual(nothing)
  expect(frame.log.map(({ outcome, failed }) => [outcome, failed])).toEqual(
    Array(5).fill(['invalid_input', true]),
  )
})

test.each([
  [['hooks', 'run'], '{}', 'unknown_harness'],
  [['hooks', 'run', '--bogus', 'vim', 'Stop'], '{}', 'unknown_harness'],
  [['hooks', 'run', 'claude', 'Stop', '--profile', 'nobody'], '{"session_id":"s1"}', 'no_profile'],
  [['--profile', 'nobody', 'hooks', 'run', 'claude', 'Stop'], '{"session_id":"s1"}', 'no_profile'],
  [['hooks', 'run', 'claude', 'Stop', '--profile', '../x'], '{"session_id":"s1"}', 'invalid_profile'],
  [['hooks', 'run', 'claude', 'Stop'], `{"session_id":"s1","x":"${'x'.repeat(1_048_576)}"}`, 'invalid_input'],
])('the program with %j', async (args, stdin, outcome) => {
  at(bridge.url)
  const environment = { CLAUDE_CODE_ENTRYPOINT: 'cli' }
  const outcomes = async () => {
    frame.removeLog()
    const ended = await TestHome.at(desk.folder).run(args, { stdin, environment })
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
    return frame.log
  }
  // On a busy machine the time of a hook may be over before its input has ended, and then the test runs it again.
  await expect.poll(outcomes, { timeout: 240_000 }).toMatchObject([{ outcome, failed: true }])
})

/** Answers like a node with 10,000 unacknowledged messages of 64 KiB, so that a page has 16. */
const fullInbox =
  (pageRead: (pages: number) => boolean): Answer =>
  ({ url }, nth, response) => {
    if (!url.startsWith('/api/v1/inbox')) return refuse(response, 404, 'not_found')
    if (!pageRead(nth)) return
    const messages = Array.from({ length: 16 }, (_, n) => ({
      ...mail,
      id: `01980000-0000-7000-8000-${String(nth * 100 + n).padStart(12, '0')}`,
    }))
    answerJson(response, 200, { messages, waiting: 10_000, has_more: true, next_after: null })
  }

test.each([
  ['a node that stops answering', () => 0, 2],
  ['a slow network', (reads: number) => reads * 450, 3],
])('a full inbox behind %s: the notice counts what was read', async (_what, elapsedMs, pages) => {
  const given = new AbortController()
  let reads = 0
  await fake(
    fullInbox((nth) => {
      reads = nth
      // The deadline passes while the third page is on its way.
      if (elapsedMs(1) === 0 && nth === 3) given.abort(new Error('deadline'))
      return !given.signal.aborted
    }),
  )
  const own = new HookFrame(desk.home, 'cleo', { sessionId: `full-${pages}` })
  await frame.run('claude', 'SessionEnd')
  const { stdout } = await own.run(
    'claude',
    'UserPromptSubmit',
    {},
    {
      signal: given.signal,
      elapsedMs: () => elapsedMs(reads),
    },
  )
  await own.run('claude', 'SessionEnd')
  expect(stdout).toContain(
    `10000 unacknowledged messages, of the oldest ${16 * pages}: owner ${16 * pages}. As of`,
  )
})

test('no line of the log holds text of the input', async () => {
  at(bridge.url)
  await frame.run('claude', 'Stop', {}, { stdin: '{"session_id":"s1","prompt":"SECRET' })
  await frame.run('claude'.repeat(20), 'Stop'.repeat(20), { prompt: 'SECRET' })
  const text = readFileSync(homeLog(desk.home), 'utf8')
  expect(text).not.toContain('SECRET')
  expect(readLog(homeLog(desk.home))).toHaveLength(2)
})

test('unknown fields change nothing', async () => {
  at(bridge.url)
  const more = {
    hook_event_name: 'Other',
    agent: 'x',
    stop_hook_active: 'yes',
    session: [],
    new_field: { deep: null },
  }
  const { exit, stdout } = await frame.run('claude', 'Stop', more)
  expect([exit, JSON.parse(stdout)]).toMatchObject([0, { hookSpecificOutput: { hookEventName: 'Stop' } }])
})

test('the log keeps its newer half when it passes 1 MB', () => {
  const { log } = placesOf(desk.home, 'cleo')
  const line = { at: 'at', harness: 'claude', event: 'Stop', outcome: 'x'.repeat(100), failed: true, ms: 1 }
  writeFileSync(log, `${JSON.stringify({ ...line, at: 'old' })}\n`.repeat(5000))
  for (let n = 0; n < 2000; n += 1) appendLog(log, { ...line, ms: n })
  const kept = readLog(log)
  expect(statSync(log).size).toBeLessThan(1_000_500)
  expect(kept.length).toBeGreaterThan(2500)
  expect(kept.at(-1)?.ms).toBe(1999)
  rmSync(log)
})

test('a hook that is killed while it prints repeats its notice', async () => {
  at(bridge.url)
  await frame.run('claude', 'SessionEnd')
  const { messages } = await desk.json<{ messages: { id: string }[] }>(['inbox', '--profile', 'cleo'])
  const program = fileURLToPath(new URL('./stuck-hook.ts', import.meta.url))
  const child: ChildProcess = spawn(
    process.execPath,
    [program, desk.home, 'cleo', 'claude-s9', messages[0]?.id ?? ''],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  await once(child.stdout ?? child, 'data')
  child.kill('SIGKILL')
  await once(child, 'close')
  const own = new HookFrame(desk.home, 'cleo', { sessionId: 's9' })
  expect(existsSync(own.places.ledger('claude-s9'))).toBe(true)
  expect(await own.run('claude', 'Stop')).toMatchObject({ stdout: expect.stringContaining('owner 1') })
})
