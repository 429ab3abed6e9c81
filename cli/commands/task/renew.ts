/** `bridge task renew`. */
import type { Task } from '../../../sdk/index.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { findClaim } from '../../tasks/claims.ts'
import { exampleTask, type KeyOption, printTask, processId, withKey } from '../../tasks/options.ts'

export interface RenewOptions extends KeyOption {
  readonly whilePid?: number
}

export function taskRenewCommand(context: CliContext, run = taskRenew): Command {
  const build = command('renew', `bridge task renew ${exampleTask}`)
    .description('Extend the claim of this profile. The result shows whether a cancellation was requested.')
    .argument('<task_id>', 'the task', id)
    .option(
      '--while-pid <pid>',
      'renew until this process is gone or the task ends; exit 11 if the claim was lost',
      processId,
    )
  return withKey(build).action((taskId: string, options: RenewOptions) => run(context, taskId, options))
}

export async function taskRenew(
  context: CliContext,
  taskId: string,
  { key, whilePid }: RenewOptions,
): Promise<void> {
  const { bridge, paths } = await context.agent()
  const held = await findClaim(paths.claims, taskId)
  if (whilePid !== undefined) {
    const { renewWhile, watchedPid } = await import('../../tasks/keeper.ts')
    const onHeld = (task: Task) => printTask(context, task, 'renewed')
    return renewWhile(context, held, watchedPid(whilePid), onHeld)
  }
  const task = await bridge.tasks.renew(held, { idempotencyKey: key, signal: context.signal })
  printTask(context, task, 'renewed')
}
