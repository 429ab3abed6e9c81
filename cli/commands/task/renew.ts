/** `bridge task renew`. */

import { type Command, command, id } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { findClaim } from '../../tasks/claims.ts'
import { exampleTask, type KeyOption, printTask, withKey } from '../../tasks/options.ts'

export function taskRenewCommand(context: CliContext, run = taskRenew): Command {
  const build = command('renew', `bridge task renew ${exampleTask}`)
    .description('Extend the claim of this profile. The result shows whether a cancellation was requested.')
    .argument('<task_id>', 'the task', id)
  return withKey(build).action((taskId: string, options: KeyOption) => run(context, taskId, options))
}

export async function taskRenew(context: CliContext, taskId: string, { key }: KeyOption): Promise<void> {
  const { bridge, paths } = await context.agent()
  const held = await findClaim(paths.claims, taskId)
  const task = await bridge.tasks.renew(held, { idempotencyKey: key, signal: context.signal })
  printTask(context, task, 'renewed')
}
