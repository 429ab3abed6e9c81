/**
 * The waiter: what wakes a session, what ends the waiter, and that the agent is shown as listening meanwhile.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { touch } from '../../../cli/hooks/files.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { type TestClock, testClock } from '../../support/clock.ts'
import { Desk } from '../../support/desk.ts'
import { type Enrolled, enrolled } from '../../support/profiles.ts'
import { type Started, TestHome } from '../../support/test-home.ts'
import { contextOf, HookFrame } from './frame.ts'

let bridge: TestBridge
let desk: Desk
let machine: TestHome
let clock: TestClock
let count = 0

beforeAll(async () => {
  clock = testClock()
  bridge = await startBridge({ clock, monotonicMs: () => clock.elapsedMs() })
  desk = await Desk.make()
  machine = TestHome.at(desk.folder)
})
afterAll(async () => {
  await machine.remove()
  await bridge.close()
})

async function session(): Promise<{ agent: Enrolled; frame: HookFrame }> {
  count += 1
  const agent = await enrolled(bridge, desk, `cleo${count}`)
  return { agent, frame: new HookFrame(desk.home, agent.name, { sessionId: `s${count}` }) }
}

const message = ({ id }: Enrolled) => bridge.owner.message(bridge.project.id, id, 'SECRET')

async function isListening({ id }: Enrolled): Promise<boolean> {
  const target = `/api/admin/projects/${bridge.project.id}/agents/${id}`
  return (await bridge.owner.ok<{ connection: { listening_now: boolean } }>({ target })).connection
    .listening_now
}

/** The node counts an agent as listening for 5 s after its last wait, and may notice the end of a wait late. */
const expectNoWait = (agent: Enrolled) =>
  expect
    .poll(async () => {
      clock.advance(6)
      return isListening(agent)
    })
    .toBe(false)

/** Starts a waiter as the harness does, after a turn. */
function waiter({ profile, sessionId, parent }: HookFrame, harness = 'claude'): Started {
  const environment = { CLAUDE_CODE_ENTRYPOINT: 'cli', CLAUDE_PID: String(parent), BRIDGE_PROFILE: profile }
  const started = machine.start(['hooks', 'run', harness, 'wait'], { environment })
  started.child.stdin.end(
    JSON.stringify({ session_id: sessionId, cwd: '/srv/demo', hook_event_name: 'Stop' }),
  )
  return started
}

const notice = (count: number) =>
  new RegExp(
    `^\\[agent-bridge notice, not from your user\\] ${count} unacknowledged messages?: owner ${count}\\. As of .*\\nRead: .*\\n$`,
  )

test('a waiter shows the agent as listening, wakes it with exit 2, and leaves nothing behind', async () => {
  const { agent, frame } = await session()
  const first = waiter(frame)
  await expect.poll(() => isListening(agent)).toBe(true)

  // One that waited too would not end.
  expect(await frame.run('claude', 'wait', { hook_event_name: 'Stop' })).toEqual({
    exit: 0,
    stdout: '',
    stderr: '',
  })

  await message(agent)
  expect(await first.ended).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(notice(1)) })
  const { waiter: record, mail, none } = frame.places
  expect([record, mail, none].filter((path) => existsSync(path))).toEqual([])
  await expectNoWait(agent)
  // The wake was the notice: neither the next prompt nor the end of the turn repeats it.
  for (const event of ['UserPromptSubmit', 'Stop']) expect((await frame.run('claude', event)).stdout).toBe('')
  expect((await agent.lines<{ messages: object[] }>('inbox'))[0]?.messages).toHaveLength(1)
})

test('a signal ends a waiter, and so does the end hook of its session', async () => {
  const { agent, frame } = await session()
  for (const end of [
    (started: Started) => started.child.kill('SIGTERM'),
    () => frame.run('claude', 'SessionEnd', { reason: 'clear' }),
  ]) {
    const started = waiter(frame)
    await expect.poll(() => isListening(agent)).toBe(true)
    await end(started)
    expect(await started.ended).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(existsSync(frame.places.waiter)).toBe(false)
    await expectNoWait(agent)
  }
})

test('a waiter ends with the process of its harness', async () => {
  const { agent, frame } = await session()
  const harness = spawn('sleep', ['600'])
  onTestFinished(() => void harness.kill('SIGKILL'))
  const own = new HookFrame(desk.home, agent.name, { sessionId: frame.sessionId, parent: harness.pid ?? 0 })
  const waiting = own.wait({ checkMs: 10 })
  await expect.poll(() => isListening(agent)).toBe(true)
  harness.kill('SIGKILL')
  expect(await waiting).toBe('ended')
})

test('after the end of its harness the process of a waiter ends, and so does its presence', async () => {
  const { agent, frame } = await session()
  const harness = spawn('sleep', ['600'])
  onTestFinished(() => void harness.kill('SIGKILL'))
  const { profile, sessionId } = frame
  const own = new HookFrame(desk.home, profile, { sessionId, parent: harness.pid ?? 0 })
  const started = waiter(own)
  await expect.poll(() => isListening(agent)).toBe(true)
  harness.kill('SIGKILL')
  expect(await started.ended).toEqual({ code: 0, stdout: '', stderr: '' })
  await expectNoWait(agent)
  expect(existsSync(frame.places.waiter)).toBe(false)
})

test('a waiter ends after 23 hours', async () => {
  const { agent, frame } = await session()
  const later = testClock()
  const own = new HookFrame(desk.home, agent.name, { sessionId: frame.sessionId, clock: later })
  const waiting = own.wait({ checkMs: 10 })
  await expect.poll(() => isListening(agent)).toBe(true)
  later.advance(23 * 3600)
  expect(await waiting).toBe('ended')
})

test.each([
  ['claude', { CLAUDE_CODE_ENTRYPOINT: 'sdk-cli' }],
  ['claude', { CLAUDE_CODE_ENTRYPOINT: 'sdk-ts' }],
  ['gemini', {}],
  ['copilot', {}],
])('%s with %j has no waiter', async (harness, environment) => {
  const { frame } = await session()
  expect(await frame.run(harness, 'wait', {}, { environment })).toEqual({ exit: 0, stdout: '', stderr: '' })
  expect(frame.log).toEqual([])
})

test('during a turn the waiter leaves the mail to the hook between tools, at most once in 10 seconds', async () => {
  const { agent, frame } = await session()
  const ended = new AbortController()
  await frame.run('claude', 'UserPromptSubmit')
  const waiting = frame.wait({ signal: ended.signal })
  await expect.poll(() => isListening(agent)).toBe(true)
  await message(agent)
  await expect.poll(() => existsSync(frame.places.mail)).toBe(true)
  expect(readFileSync(frame.places.mail, 'utf8')).not.toContain('SECRET')
  expect(contextOf(await frame.run('claude', 'PostToolUse'))).toContain('owner 1. As of')
  await agent.bridge('inbox')
  await message(agent)
  await expect.poll(() => readFileSync(frame.places.mail, 'utf8')).toContain('"total":2')
  touch(frame.places.looked(`claude-${frame.sessionId}`), new Date())
  expect((await frame.run('claude', 'PostToolUse')).stdout).toBe('')
  touch(frame.places.looked(`claude-${frame.sessionId}`), new Date(Date.now() - 10_000))
  expect(contextOf(await frame.run('claude', 'PostToolUse'))).toContain('owner 2. As of')
  ended.abort()
  expect(await waiting).toBe('ended')
  // Without a waiter its file would say nothing.
  expect((await frame.run('claude', 'PostToolUse')).stdout).toBe('')
})

test('mail of a turn that was interrupted wakes the session a minute after its last hook', async () => {
  const { agent, frame } = await session()
  await frame.run('claude', 'UserPromptSubmit')
  touch(frame.places.turn(`claude-${frame.sessionId}`), new Date(Date.now() - 60_000))
  await message(agent)
  expect(await frame.run('claude', 'wait')).toMatchObject({
    exit: 2,
    stdout: '',
    stderr: expect.stringMatching(notice(1)),
  })
})

test('a fenced session ends the waiter with one line in the log', async () => {
  const { agent, frame } = await session()
  await agent.bridge('inbox')
  await bridge.owner.takeover(bridge.project.id, agent.id)
  expect(await frame.run('claude', 'wait')).toEqual({ exit: 0, stdout: '', stderr: '' })
  expect(frame.log).toMatchObject([
    { event: 'wait', failed: true, outcome: expect.stringMatching(/^(session_fenced|takeover_pending)$/) },
  ])
})

test.each([
  ['a takeover', 'session_fenced', (agent: Enrolled) => bridge.owner.takeover(bridge.project.id, agent.id)],
  [
    'disabling the agent',
    'agent_disabled',
    (agent: Enrolled) => bridge.owner.setAgent(bridge.project.id, agent.id, 'disabled'),
  ],
  [
    'revoking the credential',
    'credential_revoked',
    ({ name }: Enrolled) => {
      const { identity } = JSON.parse(readFileSync(desk.path(name, 'profile.json'), 'utf8'))
      return bridge.owner.revoke(bridge.project.id, identity.credential_id)
    },
  ],
])('%s ends the waiter of an idle session', async (_what, outcome, act) => {
  const { agent, frame } = await session()
  const waiting = frame.run('claude', 'wait')
  await expect.poll(() => isListening(agent)).toBe(true)
  await act(agent)
  expect(await waiting).toEqual({ exit: 0, stdout: '', stderr: '' })
  expect(frame.log).toMatchObject([{ event: 'wait', failed: true, outcome }])
})

test('an end hook removes the files of a waiter that was killed', async () => {
  const { agent, frame } = await session()
  await frame.run('claude', 'UserPromptSubmit')
  const started = waiter(frame)
  await message(agent)
  await expect.poll(() => existsSync(frame.places.mail)).toBe(true)
  started.child.kill('SIGKILL')
  await started.ended
  expect((await frame.run('claude', 'PostToolUse')).stdout).toBe('')
  await frame.run('claude', 'SessionEnd')
  expect([existsSync(frame.places.waiter), existsSync(frame.places.mail)]).toEqual([false, false])
})

test.each([
  ['another process', process.pid],
  ['every process of the user', -1],
  ['the process group of the hook', 0],
])('an end hook does not signal %s, which the file of a dead waiter names', async (_what, pid) => {
  const { frame } = await session()
  await frame.run('claude', 'UserPromptSubmit')
  const signalled = vi.spyOn(process, 'kill').mockImplementation((_target, signal) => {
    if (signal !== 0) throw new Error(`sent ${signal}`)
    return true
  })
  onTestFinished(() => signalled.mockRestore())
  // Systems without /proc know no start time.
  const record = { harness: 'claude', session: 'x', since: '', process: { pid, started: null } }
  writeFileSync(frame.places.waiter, JSON.stringify(record))
  expect(await frame.run('claude', 'SessionEnd')).toEqual({ exit: 0, stdout: '', stderr: '' })
  expect(signalled.mock.calls.filter(([, signal]) => signal !== 0)).toEqual([])
  expect(existsSync(frame.places.waiter)).toBe(false)
})

test('an unreachable node does not end the waiter', async () => {
  const { agent, frame } = await session()
  const path = desk.path(agent.name, 'profile.json')
  const record = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...record, base_url: 'http://127.0.0.1:1' }))
  const ended = new AbortController()
  const waiting = frame.run('claude', 'wait', {}, { signal: ended.signal })
  await expect.poll(() => frame.log).toMatchObject([{ outcome: 'unreachable', failed: true }])
  ended.abort()
  expect(await waiting).toEqual({ exit: 0, stdout: '', stderr: '' })
})

test('Codex is woken by its queue, and its waiter goes on', async () => {
  const { agent, frame } = await session()
  const bin = join(desk.folder, `bin-${agent.name}`)
  mkdirSync(bin)
  writeFileSync(join(bin, 'codex'), `#!/bin/sh\nprintf '%s\\n' "$@" >> ${bin}/calls\n`, { mode: 0o755 })
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`)
  const ended = new AbortController()
  const waiting = frame.run('codex', 'wait', {}, { signal: ended.signal })
  await expect.poll(() => isListening(agent)).toBe(true)
  await message(agent)
  const calls = () => (existsSync(join(bin, 'calls')) ? readFileSync(join(bin, 'calls'), 'utf8') : '')
  await expect.poll(calls).toContain('Read: ')
  expect(calls()).toMatch(
    new RegExp(`^queue\n--thread\n${frame.sessionId}\n--message\n\\[agent-bridge notice`),
  )
  expect(await isListening(agent)).toBe(true)
  ended.abort()
  expect(await waiting).toEqual({ exit: 0, stdout: '', stderr: '' })
})

test('opencode is woken by the output of its waiter', async () => {
  const { agent, frame } = await session()
  await message(agent)
  const { exit, stdout, stderr } = await frame.run('opencode', 'wait')
  expect([exit, JSON.parse(stdout), stderr]).toEqual([
    0,
    { notice: expect.stringContaining('owner 1. As of') },
    '',
  ])
})

test('a session that was woken 20 times within an hour is left alone, and its owner is told once', async () => {
  const { agent, frame } = await session()
  await frame.run('claude', 'SessionStart')
  const wakes = Array.from({ length: 20 }, () => Date.now() - 60_000)
  writeFileSync(frame.places.ledger(`claude-${frame.sessionId}`), JSON.stringify({ wakes }))
  await message(agent)
  for (let round = 0; round < 2; round += 1) {
    const ended = new AbortController()
    const waiting = frame.run('claude', 'wait', {}, { signal: ended.signal })
    await expect
      .poll(async () => (await agent.bridge('history', 'owner')).stdout)
      .toContain('woken 20 times within an hour. Unacknowledged messages: 1.')
    await expect.poll(() => existsSync(frame.places.mail)).toBe(true)
    ended.abort()
    expect(await waiting).toEqual({ exit: 0, stdout: '', stderr: '' })
  }
  expect(frame.log).toMatchObject([{ event: 'wait', outcome: 'too_many_wakes', failed: false }])
  expect((await agent.bridge('history', 'owner')).stdout.match(/woken 20 times/g)).toHaveLength(1)
  // A prompt of the user still brings the notice.
  expect(contextOf(await frame.run('claude', 'UserPromptSubmit'))).toContain('owner 1. As of')
})

test('a second session of the profile gets no waiter, also while the first has none', async () => {
  const { agent, frame } = await session()
  await frame.run('claude', 'SessionStart')
  await message(agent)
  const second = new HookFrame(desk.home, agent.name, { sessionId: 'other', parent: process.ppid })
  expect(await second.run('claude', 'wait')).toEqual({ exit: 0, stdout: '', stderr: '' })
  expect(await frame.run('claude', 'wait')).toMatchObject({ exit: 2 })
})

test('listen in a session with a waiter says that the hooks tell it of mail', async () => {
  const { agent, frame } = await session()
  const ended = new AbortController()
  const waiting = frame.wait({ signal: ended.signal })
  await expect.poll(() => isListening(agent)).toBe(true)
  expect(await agent.bridge('listen', '--once')).toMatchObject({
    code: 12,
    stdout: '',
    stderr: expect.stringContaining('this session is told of mail by its hooks'),
  })
  expect(await agent.bridge('listen', '--ensure')).toMatchObject({ code: 0, stdout: '', stderr: '' })
  ended.abort()
  await waiting
})
