/**
 * Runs a shell command for one claimed task.
 *
 * - The command gets title and instructions on its standard input and in its environment.
 * - An output line that begins `progress:` is reported as progress, at most one per second (the latest). All
 *   other lines form the result. Both are also shown on standard error as they arrive, next to the command's
 *   own errors.
 * - To stop the command, its process group gets SIGTERM, and SIGKILL after a grace period. If the claim is
 *   lost or the runner is killed, the grace period is at most a third of the lease. The next runner cannot
 *   start before that.
 *
 * Contract §12 `task run`.
 */
import type { ChildProcess } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import type { ClaimedTask, Task, WorkStoppedError } from '../../sdk/index.ts'
import { CommandError } from '../exit-codes.ts'
import { type ShellCommands, stopper } from './shell-commands.ts'
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

/** Grace period while the claim is not renewed: `graceMs`, but at most a third of the lease. */
export const lostGraceMs = (graceMs: number, { leaseMs }: Pick<ClaimedTask, 'leaseMs'>): number =>
  Math.min(graceMs, leaseMs / 3)

export async function runTask(
  { shell, command, graceMs, environment, show, nowMs }: TaskCommand,
  claimed: ClaimedTask,
): Promise<TaskEnd> {
  const { task, signal, progress } = claimed
  const child = shell.start(command, {
    stdout: 'pipe',
    environment: { ...environment, ...taskEnvironment(task) },
    graceMs: lostGraceMs(graceMs, claimed),
  })
  const output = new TaskOutput({ show, report: progress, nowMs })
  const decoder = new StringDecoder('utf8')
  child.stdout?.on('data', (bytes: Buffer) => output.add(bytes, decoder.write(bytes)))
  // A command may exit without reading its input. The resulting EPIPE is not a failure.
  child.stdin?.on('error', () => {})
  child.stdin?.end(`${task.title}\n\n${task.instructions}\n`)
  const isLost = () => (signal.reason as WorkStoppedError).why === 'claim_lost'
  const stop = stopper(child, () => (isLost() ? lostGraceMs(graceMs, claimed) : graceMs))
  if (signal.aborted) stop.now()
  signal.addEventListener('abort', stop.now, { once: true })
  try {
    const end = await ended(child)
    await output.end(decoder.end())
    return { ...end, output }
  } finally {
    signal.removeEventListener('abort', stop.now)
    stop.dispose()
  }
}

const ended = (child: ChildProcess) =>
  new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.on('error', (cause) =>
      reject(new CommandError('unexpected', `no shell to run the command: ${cause.message}`, { cause })),
    )
    child.on('close', (code, signal) => resolve({ code, signal }))
  })

/**
 * The task as environment variables. A variable cannot hold NUL, so a text with NUL is on standard input
 * only.
 */
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
