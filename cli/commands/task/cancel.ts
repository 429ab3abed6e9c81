/** `bridge task cancel`. */
import { type Command, command, id } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { exampleTask, type ReasonOption, tellTask, withKey } from '../../task-options.ts'

export function taskCancelCommand(context: CliContext, run = taskCancel): Command {
  const build = command('cancel', `bridge task cancel ${exampleTask} --reason "not needed any more"`)
    .description('Cancel a task that you gave. Who holds it is asked to stop.')
    .argument('<task_id>', 'the task', id)
    .option('--reason <text>', 'why')
  return withKey(build).action((taskId: string, options: ReasonOption) => run(context, taskId, options))
}

export async function taskCancel(
  context: CliContext,
  taskId: string,
  { reason, key }: ReasonOption,
): Promise<void> {
  const { tasks } = await context.bridge()
  const call = { idempotencyKey: key, signal: context.signal }
  tellTask(context, await tasks.cancel(taskId, { reason }, call), 'asked to cancel')
}
