/**
 * `bridge task run --exec CMD`: claims tasks one at a time and runs a command for each.
 *
 * - The claim is renewed while the command runs.
 * - Exit 0 completes the task. The result is the command's output; the evidence is the command, its exit code
 *   and the hashes of the named files. Any other exit fails the task.
 * - After a cancellation, a lost claim or an interruption, the command is stopped first. Then the stop is
 *   confirmed, or the claim is released.
 *
 * Contract §12.
 */
import type { Evidence, Task, TaskHandler, WorkEvent } from '../../../sdk/index.ts'
import { endOf, oneLine, startOf } from '../../../sdk/plain-text.ts'
import { type Command, command, invalid, oneOf, seconds, shellCommand } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { runTask, type TaskEnd } from '../../exec/run-task.ts'
import { ShellCommands } from '../../exec/shell-commands.ts'
import { CommandError } from '../../exit-codes.ts'
import { failureWords as nodeWords } from '../../failures/failure-words.ts'
import { dropClaim, lendClaim } from '../../tasks/claims.ts'
import { hashFile } from '../../tasks/evidence.ts'
import { exactDuration } from '../../terminal/words.ts'

export interface TaskRunOptions {
  readonly exec: string
  readonly evidence?: readonly string[]
  readonly once?: true
  readonly timeout?: number
  readonly grace: number
  readonly onFailure: 'fail' | 'release'
}

/** A result has 32 items of evidence at most, and the command itself is one. */
const mostFiles = 31

function gathered(file: string, before: readonly string[] = []): readonly string[] {
  if (before.length === mostFiles) throw invalid(`It may be given ${mostFiles} times at most.`)
  return [...before, file]
}

export function taskRunCommand(context: CliContext, run = taskRun): Command {
  return command('run', `bridge task run --exec './do-it.sh' --evidence out.txt`)
    .description('Claim the tasks that are assigned to you, one at a time, and run a command for each.')
    .requiredOption(
      '--exec <command>',
      'the command. It gets title and instructions on standard input and in BRIDGE_TASK_TITLE, BRIDGE_TASK_INSTRUCTIONS and others. Exit 0 completes the task with its output as the result. Lines like "progress: 40% half" are reported as progress',
      shellCommand,
    )
    .option(
      '--evidence <file>',
      'a file whose SHA-256 goes into the evidence; may be repeated, 31 times at most',
      gathered,
    )
    .option('--once', 'end after one task; exit 1 if it failed, 11 if its claim was lost')
    .option('--timeout <duration>', 'end after this time without a task; exit 4 if none came at all', seconds)
    .option('--grace <duration>', 'time from SIGTERM to SIGKILL when the command must stop', seconds, 10)
    .option(
      '--on-failure <what>',
      'fail the task, or release it for another attempt',
      oneOf(['fail', 'release']),
      'fail',
    )
    .action((options: TaskRunOptions) => run(context, options))
}

export async function taskRun(context: CliContext, options: TaskRunOptions): Promise<void> {
  const { signal, output } = context
  const { tasks } = await context.bridge()
  const endings: WorkEvent[] = []
  const onEvent = (event: WorkEvent) => {
    if ('task' in event) output.saw(event.task)
    const words = eventWords(event)
    output.note(words)
    if (event.type !== 'ended' && event.type !== 'lost') return
    endings.push(event)
    if (output.json) output.item(event.task, '')
  }
  const shell = new ShellCommands()
  const handler = await handlerOf(context, options, shell)
  const { claimed } = await tasks
    .work(handler, {
      signal,
      onEvent,
      stopWithinMs: options.grace * 1000,
      ...(options.once === true ? { limit: 1 } : {}),
      ...(options.timeout === undefined ? {} : { idleMs: options.timeout * 1000 }),
    })
    .finally(() => shell.close())
  if (signal.aborted) throw new CommandError('interrupted', 'interrupted')
  if (claimed === 0)
    throw new CommandError('nothing_came', `no task came within ${exactDuration(options.timeout ?? 0)}`)
  if (options.once === true) requireGood(endings.at(-1))
}

/** With `--once`, turns the end of the task into the exit code. */
function requireGood(event: WorkEvent | undefined): void {
  if (event?.type === 'lost') throw new CommandError('claim_lost', 'the claim was lost')
  if (event?.type !== 'ended' || event.task.state === 'completed' || event.task.state === 'cancelled') return
  throw new CommandError('unexpected', `the task ${event.task.id} is ${event.task.state}`)
}

async function handlerOf(
  context: CliContext,
  options: TaskRunOptions,
  shell: ShellCommands,
): Promise<TaskHandler> {
  const { TaskFailedError, WorkStoppedError } = await import('../../../sdk/index.ts')
  const { exec, grace, evidence: files = [], onFailure } = options
  const { paths } = await context.agent()
  const { environment, settings } = context
  return async (claimed) => {
    const { signal, task } = claimed
    // Any `bridge task` that the command runs acts for the same claim.
    await lendClaim(paths.claims, task)
    const end = await runTask(
      {
        shell,
        command: exec,
        graceMs: grace * 1000,
        environment: { ...environment, BRIDGE_PROFILE: settings.profile },
        show: (text) => context.io.err(text),
        nowMs: () => context.clock().getTime(),
      },
      claimed,
    ).finally(() => dropClaim(paths.claims, task.id))
    const stopped = () =>
      signal.reason instanceof WorkStoppedError ? signal.reason : new WorkStoppedError('interrupted')
    // The exit code of a command that was stopped does not count.
    if (signal.aborted) throw stopped()
    const again = onFailure === 'release'
    const commandEvidence = evidenceOf(exec, end)
    if (end.code !== 0) {
      throw new TaskFailedError(failureWords(end), { evidence: [commandEvidence], again })
    }
    const hashed = await hashAll(files, signal).catch((error: unknown) => {
      if (signal.aborted) throw stopped()
      throw new TaskFailedError((error as Error).message, { evidence: [commandEvidence], again })
    })
    return {
      result: end.output.result || 'exit code 0, nothing was printed',
      evidence: [commandEvidence, ...hashed],
    }
  }
}

/** Evidence about the command, with the hash of its whole standard output. */
const evidenceOf = (exec: string, { code, output }: TaskEnd): Evidence => ({
  kind: 'command',
  value: Buffer.byteLength(exec) > 4096 ? `${startOf(exec, 1000)} …` : exec,
  label: 'sha256 is of its standard output',
  sha256: output.sha256,
  ...(code === null ? {} : { exit_code: code }),
})

const hashAll = (files: readonly string[], signal: AbortSignal): Promise<Evidence[]> =>
  Promise.all(
    files.map(async (value) => ({ kind: 'file' as const, value, sha256: await hashFile(value, signal) })),
  )

function failureWords({ code, signal, output }: TaskEnd): string {
  const how = code === null ? `the command was ended by ${signal}` : `the command exited ${code}`
  const last = endOf(output.result, 500).trim()
  return last === '' ? how : `${how}; it printed last: ${last}`
}

function eventWords(event: WorkEvent): string {
  switch (event.type) {
    case 'claimed':
      return `claimed ${event.task.id}: ${oneLine(event.task.title)}`
    case 'ended':
      return `${endWords(event.task)} ${event.task.id}`
    case 'stopping':
      return { cancelled: 'cancelled', claim_lost: 'the claim is lost', interrupted: 'interrupted' }[
        event.why
      ].concat(`: stopping the command of ${event.task.id}`)
    case 'lost':
      return `the claim of ${event.task.id} is lost; nothing was reported`
    case 'away':
      return event.error === null
        ? 'the node is reachable again'
        : `the node is unreachable, waiting: ${nodeWords(event.error)}`
  }
}

const endWords = ({ state }: Task): string => (state === 'open' ? 'released' : state)
