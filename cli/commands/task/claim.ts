/** `bridge task claim`. */
import { keepClaim } from '../../claims.ts'
import { type Command, command, id } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { exampleTask, type KeyOption, showTask, withKey } from '../../task-options.ts'

export function taskClaimCommand(context: CliContext, run = taskClaim): Command {
  const build = command('claim', `bridge task claim ${exampleTask}`)
    .description('Take an open task. The claim is over after a while unless bridge task renew keeps it.')
    .argument('<task_id>', 'the task', id)
  return withKey(build).action((taskId: string, options: KeyOption) => run(context, taskId, options))
}

export async function taskClaim(context: CliContext, taskId: string, { key }: KeyOption): Promise<void> {
  const { bridge, paths } = await context.agent()
  const task = await bridge.tasks.claim(taskId, { idempotencyKey: key, signal: context.signal })
  await keepClaim(paths.claims, task)
  await showTask(context, task)
}
