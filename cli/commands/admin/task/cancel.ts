/** `bridge admin task cancel`. Spec §4.3; contract §8. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner, namingKey } from '../../../owner/client.ts'
import { findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { printTask, type ReasonOption, withKey } from '../../../tasks/options.ts'

export type AdminTaskCancelOptions = ReasonOption & ProjectOption

export function cancelTaskCommand(context: CliContext, run = cancelTask): Command {
  const example = `bridge admin task cancel $(bridge admin task list | awk 'NR == 2 { print $1 }') --reason "no longer needed"`
  const cancel = command('cancel', example)
    .description('Cancel a task. The agent that holds it is asked to stop, and confirms the stop.')
    .argument('<task_id>', 'the task', id)
    .option('--reason <text>', 'why')
  return withProject(withKey(cancel)).action((taskId: string, options: AdminTaskCancelOptions) =>
    run(context, taskId, options),
  )
}

export const cancelTask = (
  context: CliContext,
  taskId: string,
  { reason, key, project: wanted }: AdminTaskCancelOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, wanted, context)
    const task = await namingKey(context, key, (idempotencyKey) =>
      owner.tasks.cancel(project.id, taskId, { reason }, { idempotencyKey, signal: context.signal }),
    )
    printTask(context, task, 'requested cancellation of')
  })
