/**
 * One task handed to a shell command.
 *
 * - Title and instructions stand on its standard input, and in its environment.
 * - A line of its standard output that begins `progress:` is reported, at most one a second, the latest; all others are
 *   the result. Both are shown as they come, on standard error, as is the command's own standard error.
 * - To stop it, all that it started gets SIGTERM, and SIGKILL after a grace: it has a process group of its own.
 *
 * Contract §12 `task run`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import type { ClaimedTask, Task } from '../sdk/index.ts'
import { CommandFailure } from './exit-codes.ts'
import { TaskOutput } from './task-output.ts'

export interface TaskCommand {
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

export async function runTask(
  { command, graceMs, environment, show, nowMs }: TaskCommand,
  { task, signal, progress }: ClaimedTask,
): Promise<TaskEnd> {
  const child = spawn(command, {
    shell: true,
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...environment, ...taskEnvironment(task) },
  })
  const output = new TaskOutput({ show, report: progress, nowMs })
  const decoder = new StringDecoder('utf8')
  child.stdout.on('data', (bytes: Buffer) => output.add(bytes, decoder.write(bytes)))
  // A command that does not read its input closes it early: that is its own affair.
  child.stdin.on('error', () => {})
  child.stdin.end(`${task.title}\n\n${task.instructions}\n`)
  const stop = stopper(child, graceMs)
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
      reject(new CommandFailure('unexpected', `no shell to run the command: ${cause.message}`, { cause })),
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

function stopper(child: ChildProcess, graceMs: number) {
  let timer: NodeJS.Timeout | undefined
  const kill = () => signalGroup(child.pid, 'SIGKILL')
  return {
    now: () => {
      signalGroup(child.pid, 'SIGTERM')
      timer = setTimeout(kill, graceMs)
      // What it started and did not take with it is not waited for.
      child.once('exit', kill)
      if (child.exitCode !== null || child.signalCode !== null) kill()
    },
    over: () => clearTimeout(timer),
  }
}

function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, signal)
  } catch (error) {
    // It has ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
