/** `bridge task decline`. */
import { type Command, command, id } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { exampleTask, type ReasonOption, tellTask, withKey } from '../../task-options.ts'

export function taskDeclineCommand(context: CliContext, run = taskDecline): Command {
  const build = command('decline', `bridge task decline ${exampleTask} --reason "not my part of the code"`)
    .description('Refuse an open task that was given to you.')
    .argument('<task_id>', 'the task', id)
    .option('--reason <text>', 'why')
  return withKey(build).action((taskId: string, options: ReasonOption) => run(context, taskId, options))
}

export async function taskDecline(
  context: CliContext,
  taskId: string,
  { reason, key }: ReasonOption,
): Promise<void> {
  const { tasks } = await context.bridge()
  const call = { idempotencyKey: key, signal: context.signal }
  tellTask(context, await tasks.decline(taskId, { reason }, call), 'declined')
}
