/** `bridge task claim`. */
import type { Task } from '../../../sdk/index.ts'
import { type Command, command, Option } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { id } from '../../ids/parse.ts'
import { isRefusal } from '../../owner/client.ts'
import { keepClaim } from '../../tasks/claims.ts'
import {
  exampleTask,
  type KeyOption,
  noteCancellation,
  processId,
  showTask,
  withKey,
} from '../../tasks/options.ts'

export interface ClaimOptions extends KeyOption {
  readonly keep?: true
  readonly whilePid?: number
}

export function taskClaimCommand(context: CliContext, run = taskClaim): Command {
  const build = command('claim', `bridge task claim ${exampleTask}`)
    .description(
      'Claim an open task, or show the claim that this profile holds. A claim expires unless bridge task renew extends it.',
    )
    .argument('<task_id>', 'the task', id)
    .option(
      '--keep',
      'renew the claim in the background until the task ends, the process that runs your commands is gone, or the claim is lost (checked every 15 seconds)',
    )
    .addOption(
      new Option(
        '--while-pid <pid>',
        'with --keep: the process that works on the task, by default the one that runs this command. Shells with -c and npx, which end with the command, are passed over',
      ).argParser(processId),
    )
  return withKey(build).action((taskId: string, options: ClaimOptions) => run(context, taskId, options))
}

export async function taskClaim(context: CliContext, taskId: string, options: ClaimOptions): Promise<void> {
  const { key, keep, whilePid } = options
  if (whilePid !== undefined && keep !== true) throw new CommandError('usage', '--while-pid needs --keep')
  const keeper = keep === true ? await import('../../tasks/keeper.ts') : undefined
  const watched = keeper?.watchedPid(whilePid)
  const { bridge, paths } = await context.agent()
  const { signal, output } = context
  let held: Task | undefined
  const task = await bridge.tasks
    .claim(taskId, { idempotencyKey: key, signal, ...(await shortLife(keep)) })
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
  if (keeper !== undefined && watched !== undefined) await keeper.renewInBackground(context, task.id, watched)
}

/** A claim that is renewed lives as short as a worker's, so that the task is open again soon after the process. */
async function shortLife(keep: true | undefined): Promise<{ readonly claimTtlSeconds?: number }> {
  if (keep === undefined) return {}
  const { limits } = await import('../../../sdk/index.ts')
  return { claimTtlSeconds: limits.workerClaimTtlSeconds }
}
