/** `bridge task progress`. */

import { type Command, command, wholeNumber } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { id } from '../../ids/parse.ts'
import { findClaim } from '../../tasks/claims.ts'
import { exampleTask, type KeyOption, printTask, withKey } from '../../tasks/options.ts'

export interface TaskProgressOptions extends KeyOption {
  readonly percent?: number
}

export function taskProgressCommand(context: CliContext, run = taskProgress): Command {
  const build = command('progress', `bridge task progress ${exampleTask} "half of the files" --percent 50`)
    .description('Report how far the work is. This does not extend the claim; bridge task renew does.')
    .argument('<task_id>', 'the task', id)
    .argument('[note]', 'in a few words')
    .option('--percent <number>', 'from 0 to 100', wholeNumber(0, 100))
  return withKey(build).action((taskId: string, note: string | undefined, options: TaskProgressOptions) =>
    run(context, taskId, note, options),
  )
}

export async function taskProgress(
  context: CliContext,
  taskId: string,
  note: string | undefined,
  { percent, key }: TaskProgressOptions,
): Promise<void> {
  if (note === undefined && percent === undefined) {
    throw new CommandError('usage', 'nothing to report: give a note, --percent, or both')
  }
  const { bridge, paths } = await context.agent()
  const held = await findClaim(paths.claims, taskId)
  const call = { idempotencyKey: key, signal: context.signal }
  printTask(context, await bridge.tasks.progress(held, { note, percent }, call), 'reported progress of')
}
