/** The terminal of a Codex session whose hooks a daemon runs: how it is found, and that its end ends the waiter. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { processOf } from '../../../cli/hooks/harness-process.ts'
import { terminalsOf } from '../../../cli/hooks/terminals.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { enrolled } from '../../support/profiles.ts'
import { HookFrame } from './frame.ts'

let bridge: TestBridge
let desk: Desk
beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
})
afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

/** Starts a process that looks like Codex with these arguments. */
async function codex(cwd: string, ...args: string[]): Promise<ChildProcess & { readonly pid: number }> {
  const words = ['-e', 'console.log(1); setInterval(() => {}, 1e6)', ...args]
  const child = spawn(process.execPath, words, {
    argv0: '/opt/codex',
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  await once(child.stdout, 'data')
  return child as typeof child & { readonly pid: number }
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

function folder(name: string): string {
  const path = join(desk.folder, name)
  mkdirSync(path)
  return path
}

test('the terminals in the folder of the session count, until the last one is gone', async () => {
  const [here, there] = [folder('here'), folder('there')]
  const daemon = processOf((await codex(there, 'app-server')).pid)
  const first = await codex(here)
  await codex(here, 'exec', 'hello')
  await codex(there)
  const terminals = terminalsOf(daemon, here)
  expect(terminals?.areGone()).toBe(false)
  // The user opens the session again before the first terminal is closed.
  const second = await codex(here, 'resume', '--last')
  await end(first)
  expect(terminals?.areGone()).toBe(false)
  await end(second)
  expect(terminals?.areGone()).toBe(true)
})

test('a terminal that was started in another folder counts if the folder of the session has none', async () => {
  const [elsewhere, session] = [folder('elsewhere'), folder('session')]
  const daemon = processOf((await codex(elsewhere, 'app-server')).pid)
  const terminal = await codex(elsewhere, '-C', session)
  const terminals = terminalsOf(daemon, session)
  expect(terminals?.areGone()).toBe(false)
  await end(terminal)
  expect(terminals?.areGone()).toBe(true)
})

test('a harness that is no daemon has no terminal apart from itself', async () => {
  const here = folder('alone')
  const terminal = await codex(here)
  expect(terminalsOf(processOf(terminal.pid), here)).toBeUndefined()
  expect(terminalsOf(processOf(process.pid), here)).toBeUndefined()
})

test('the end of the terminal ends the waiter, which gives the profile up though the daemon lives', async () => {
  const agent = await enrolled(bridge, desk, 'cleo')
  const here = folder('project')
  const daemon = await codex(here, 'app-server')
  const terminal = await codex(here)
  const frame = new HookFrame(desk.home, agent.name, { sessionId: 's1', parent: daemon.pid })
  const terminals = terminalsOf(processOf(daemon.pid), here)
  const waiting = frame.wait({ isLeft: () => terminals?.areGone() === true, checkMs: 20 })
  await expect.poll(() => existsSync(frame.places.waiter)).toBe(true)
  await end(terminal)
  expect(await waiting).toBe('ended')
  expect([existsSync(frame.places.holder), existsSync(frame.places.waiter)]).toEqual([false, false])
})
