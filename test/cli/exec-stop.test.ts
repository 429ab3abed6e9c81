/** Commands of `listen --exec` and `task run` that resist when they are stopped: the program ends anyway. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { runForMessage } from '../../cli/exec/run-for-message.ts'
import { runTask } from '../../cli/exec/run-task.ts'
import { ShellCommands, stopper } from '../../cli/exec/shell-commands.ts'
import { type ClaimedTask, type Message, WorkStoppedError } from '../../sdk/index.ts'
import { message } from '../support/bridges.ts'

const shell = new ShellCommands()
const environment = { PATH: process.env.PATH }
afterEach(() => {
  vi.restoreAllMocks()
  shell.close()
})

test('a command of listen that ignores SIGTERM is killed after the grace period', async () => {
  const controller = new AbortController()
  const folder = await mkdtemp(join(tmpdir(), 'bridge-exec-stop-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const trapped = join(folder, 'trapped')
  const text = `trap '' TERM; : > '${trapped}'; while :; do sleep 0.1; done`
  const command = { shell, command: text, environment }
  const running = runForMessage(command, message() as unknown as Message, controller.signal, 200)
  await expect.poll(() => existsSync(trapped)).toBe(true)
  controller.abort()
  expect(await running).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a stopped command of task run ends, although a process beside it holds its output', async () => {
  const controller = new AbortController()
  const progress = Promise.withResolvers<void>()
  const task = { id: 'id', title: 'title', instructions: 'go', attempts: 1, due_at: null }
  const claimed = { task, leaseMs: 30_000, signal: controller.signal, progress: async () => {} }
  const run = {
    ...{ shell, graceMs: 1000, environment, nowMs: () => performance.now() },
    // The process beside it speaks after the shell has ended.
    command: `setsid sh -c 'while kill -s 0 "$0" 2>/dev/null; do sleep 0.1; done; echo $$; exec sleep 60' $$ &`,
    show: () => progress.resolve(),
  }
  const running = runTask(run, claimed as unknown as ClaimedTask)
  await progress.promise
  controller.abort(new WorkStoppedError('interrupted'))
  const end = await running
  expect(end.code).toBe(0)
  // Fails if that process has ended.
  process.kill(Number(end.output.result), 'SIGKILL')
})

test('a command that became another user runs to its end', async () => {
  const child = shell.start('sleep 0.5', { stdout: 'pipe', environment, graceMs: 1000 })
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
  })
  const stop = stopper(child, () => 100)
  stop.now()
  expect(await once(child, 'close')).toEqual([0, null])
  stop.dispose()
})
