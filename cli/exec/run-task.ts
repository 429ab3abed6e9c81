/**
 * One task handed to a shell command.
 *
 * - Title and instructions stand on its standard input, and in its environment.
 * - A line of its standard output that begins `progress:` is reported, at most one a second, the latest; all others are
 *   the result. Both are shown as they come, on standard error, as is the command's own standard error.
 * - To stop it, all that it started gets SIGTERM, and SIGKILL after a grace. Of a claim that is lost, or of a runner that is
 *   killed, nothing works on for longer than a third of the lease: the next runner has not begun by then.
 *
 * Contract §12 `task run`.
 */
import type { ChildProcess } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import type { ClaimedTask, Task, WorkStoppedError } from '../../sdk/index.ts'
import { CommandError } from '../exit-codes.ts'
import { type ShellCommands, signalGroup } from './shell-commands.ts'
import { TaskOutput } from './task-output.ts'

export interface TaskCommand {
  readonly shell: ShellCommands
  readonly command: string
  readonly graceMs: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly show: (text: string) => void
  readonly nowMs: () => number
}

export interface TaskEnd {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: TaskOutput
}

/** How long a command that has to stop may take, where the claim is not renewed meanwhile. */
export const lostGraceMs = (graceMs: number, { claim_ttl_seconds }: Task): number =>
  Math.min(graceMs, (claim_ttl_seconds * 1000) / 3)

export async function runTask(
  { shell, command, graceMs, environment, show, nowMs }: TaskCommand,
  { task, signal, progress }: ClaimedTask,
): Promise<TaskEnd> {
  const child = shell.start(command, {
    stdout: 'pipe',
    environment: { ...environment, ...taskEnvironment(task) },
    graceMs: lostGraceMs(graceMs, task),
  })
  const output = new TaskOutput({ show, report: progress, nowMs })
  const decoder = new StringDecoder('utf8')
  child.stdout?.on('data', (bytes: Buffer) => output.add(bytes, decoder.write(bytes)))
  // A command that does not read its input closes it early: that is its own affair.
  child.stdin?.on('error', () => {})
  child.stdin?.end(`${task.title}\n\n${task.instructions}\n`)
  const isLost = () => (signal.reason as WorkStoppedError).why === 'claim_lost'
  const stop = stopper(child, () => (isLost() ? lostGraceMs(graceMs, task) : graceMs))
  if (signal.aborted) stop.now()
  signal.addEventListener('abort', stop.now, { once: true })
  try {
    const end = await ended(child)
    await output.end(decoder.end())
    return { ...end, output }
  } finally {
    signal.removeEventListener('abort', stop.now)
    stop.over()
  }
}

const ended = (child: ChildProcess) =>
  new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.on('error', (cause) =>
      reject(new CommandError('unexpected', `no shell to run the command: ${cause.message}`, { cause })),
    )
    child.on('close', (code, signal) => resolve({ code, signal }))
  })

/** An environment holds no NUL, so such a text is on standard input only. */
function taskEnvironment(task: Task): Record<string, string> {
  const fields = {
    BRIDGE_TASK_ID: task.id,
    BRIDGE_TASK_TITLE: task.title,
    BRIDGE_TASK_INSTRUCTIONS: task.instructions,
    BRIDGE_TASK_ATTEMPT: String(task.attempts),
    BRIDGE_TASK_DUE_AT: task.due_at ?? '',
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !value.includes('\0')))
}

function stopper(child: ChildProcess, graceMs: () => number) {
  let timer: NodeJS.Timeout | undefined
  const kill = () => signalGroup(child, 'SIGKILL')
  return {
    now: () => {
      signalGroup(child, 'SIGTERM')
      timer = setTimeout(kill, graceMs())
      // What it started and did not take with it is not waited for.
      child.once('exit', kill)
      if (child.exitCode !== null || child.signalCode !== null) kill()
    },
    over: () => clearTimeout(timer),
  }
}
