/** `bridge task stopped`. */

import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { asFirstUse } from '../../profile/first-use.ts'
import { dropClaim, findClaim } from '../../tasks/claims.ts'
import { exampleTask, type KeyOption, printTask, withKey } from '../../tasks/options.ts'

export function taskStoppedCommand(context: CliContext, run = taskStopped): Command {
  const build = command('stopped', `bridge task stopped ${exampleTask}`)
    .description('Confirm that the work of a cancelled task has stopped.')
    .argument('<task_id>', 'the task', id)
  return withKey(build).action((taskId: string, options: KeyOption) => run(context, taskId, options))
}

export async function taskStopped(context: CliContext, taskId: string, { key }: KeyOption): Promise<void> {
  const { bridge, paths } = await context.agent()
  const task = await asFirstUse(context, { of: 'task stopped', key }, async (first) => {
    const held = await first(taskId, () => findClaim(paths.claims, taskId))
    return bridge.tasks.stopped(held, { idempotencyKey: key, signal: context.signal })
  })
  await dropClaim(paths.claims, taskId)
  printTask(context, task, 'confirmed that the work stopped,')
}
