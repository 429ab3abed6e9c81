/** `bridge task fail`. */
import { dropClaim, findClaim } from '../../claims.ts'
import { type Command, command, id } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { exampleTask, type KeyOption, tellTask, withKey } from '../../task-options.ts'
import { messageBody } from '../../text-argument.ts'

export function taskFailCommand(context: CliContext, run = taskFail): Command {
  const build = command('fail', `bridge task fail ${exampleTask} "the file is not there"`)
    .description('Give a task up for good, and say why.')
    .argument('<task_id>', 'the task', id)
    .argument('[reason]', 'why; standard input when absent or -')
  return withKey(build).action((taskId: string, reason: string | undefined, options: KeyOption) =>
    run(context, taskId, reason, options),
  )
}

export async function taskFail(
  context: CliContext,
  taskId: string,
  text: string | undefined,
  { key }: KeyOption,
): Promise<void> {
  const reason = await messageBody(context.io, text)
  const { bridge, paths } = await context.agent()
  const held = await findClaim(paths.claims, taskId)
  const task = await bridge.tasks.fail(held, { reason }, { idempotencyKey: key, signal: context.signal })
  await dropClaim(paths.claims, taskId)
  tellTask(context, task, 'gave up')
}
