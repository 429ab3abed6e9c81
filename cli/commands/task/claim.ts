/** `bridge task claim`. */
import type { Task } from '../../../sdk/index.ts'
import { type Command, command, id } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { isRefusal } from '../../owner/client.ts'
import { keepClaim } from '../../tasks/claims.ts'
import { exampleTask, type KeyOption, noteCancellation, showTask, withKey } from '../../tasks/options.ts'

export function taskClaimCommand(context: CliContext, run = taskClaim): Command {
  const build = command('claim', `bridge task claim ${exampleTask}`)
    .description(
      'Claim an open task, or show the claim that this profile holds. A claim expires unless bridge task renew extends it.',
    )
    .argument('<task_id>', 'the task', id)
  return withKey(build).action((taskId: string, options: KeyOption) => run(context, taskId, options))
}

export async function taskClaim(context: CliContext, taskId: string, { key }: KeyOption): Promise<void> {
  const { bridge, paths } = await context.agent()
  const { signal, output } = context
  let held: Task | undefined
  const task = await bridge.tasks
    .claim(taskId, { idempotencyKey: key, signal })
    .catch(async (error: unknown) => {
      if (!(await isRefusal(error, 'claim_held')) && !(await isRefusal(error, 'state_conflict'))) throw error
      held = await bridge.tasks.held(taskId, { signal })
      if (held === undefined) throw error
      return held
    })
  await keepClaim(paths.claims, task)
  if (held?.claim) output.note(`this profile already holds it, until ${held.claim.expires_at}`)
  await showTask(context, task)
  noteCancellation(output, task)
}
