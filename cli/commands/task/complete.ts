/** `bridge task complete`. */

import { type Command, command, wholeNumber } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { id } from '../../ids/parse.ts'
import { messageBody } from '../../messages/text-argument.ts'
import { asFirstUse } from '../../profile/first-use.ts'
import { dropClaim, findClaim } from '../../tasks/claims.ts'
import { evidenceOption, type GivenEvidence, gatherEvidence } from '../../tasks/evidence.ts'
import { exampleTask, type KeyOption, printTask, withKey } from '../../tasks/options.ts'

export interface TaskCompleteOptions extends KeyOption {
  readonly evidence?: readonly GivenEvidence[]
  readonly exitCode?: number
}

export function taskCompleteCommand(context: CliContext, run = taskComplete): Command {
  const example = `bridge task complete ${exampleTask} "90 lines" --evidence "command:wc -l README.md" --exit-code 0`
  const build = command('complete', example)
    .description('Report the result, with at least one item of evidence.')
    .argument('<task_id>', 'the task', id)
    .argument('[result]', 'the result; standard input when absent or -')
    .option(
      '--evidence <kind:value>',
      'text:, url:, commit:, file: (hashed here), command:, message:, transfer:. May be repeated',
      evidenceOption,
    )
    .option('--exit-code <code>', 'exit code of the commands in the evidence', wholeNumber(0, 255))
  return withKey(build).action((taskId: string, result: string | undefined, options: TaskCompleteOptions) =>
    run(context, taskId, result, options),
  )
}

export async function taskComplete(
  context: CliContext,
  taskId: string,
  text: string | undefined,
  { evidence: given = [], exitCode, key }: TaskCompleteOptions,
): Promise<void> {
  if (given.length === 0) {
    throw new CommandError('usage', 'a result needs evidence', {
      hint: '--evidence "command:npm test" --exit-code 0, or commit:, file:, url:, text:',
    })
  }
  const result = await messageBody(context.io, text, 'result')
  const evidence = await gatherEvidence(given, { exitCode, seen: context.ids, signal: context.signal })
  const { bridge, paths } = await context.agent()
  const task = await asFirstUse(context, { of: 'task complete', key }, async (first) => {
    const held = await first(taskId, () => findClaim(paths.claims, taskId))
    const call = { idempotencyKey: key, signal: context.signal }
    return bridge.tasks.complete(held, { result, evidence }, call)
  })
  await dropClaim(paths.claims, taskId)
  printTask(context, task, 'completed')
}
