/** Commands of `listen --exec` and `task run` that resist when they are stopped: the program ends anyway. */
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { runForMessage } from '../../cli/exec/run-for-message.ts'
import { runTask } from '../../cli/exec/run-task.ts'
import { ShellCommands, stopper } from '../../cli/exec/shell-commands.ts'
import { type ClaimedTask, type Message, WorkStoppedError } from '../../sdk/index.ts'
import { message } from '../support/bridges.ts'

const limit = { timeout: 30_000 }

const shell = new ShellCommands()
const environment = { PATH: process.env.PATH }
afterEach(() => {
  vi.restoreAllMocks()
  shell.close()
})

test('a command of listen that ignores SIGTERM is killed after the grace period', async () => {
  const controller = new AbortController()
  const command = { shell, command: `trap '' TERM; while :; do sleep 0.1; done`, environment }
  const running = runForMessage(command, message() as unknown as Message, controller.signal, 200)
  await setTimeout(300)
  controller.abort()
  expect(await running).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a stopped command of task run ends, although a process beside it holds its output', limit, async () => {
  const controller = new AbortController()
  const progress = Promise.withResolvers<void>()
  const task = { id: 'id', title: 'title', instructions: 'go', attempts: 1, due_at: null }
  const claimed = { task, leaseMs: 30_000, signal: controller.signal, progress: async () => {} }
  const run = {
    ...{ shell, graceMs: 1000, environment, nowMs: () => performance.now() },
    command: `setsid sh -c 'echo $$; exec sleep 60' &`,
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
