/** `bridge task fail` and `release`: the holder ends its claim and gives a reason. Contract §8. */

import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { messageBody } from '../../messages/text-argument.ts'
import { asFirstUse } from '../../profile/first-use.ts'
import { dropClaim, findClaim } from '../../tasks/claims.ts'
import { exampleTask, type KeyOption, printTask, withKey } from '../../tasks/options.ts'

type Verb = 'fail' | 'release'

const words: Record<Verb, { readonly why: string; readonly description: string; readonly done: string }> = {
  fail: {
    why: 'the file is not there',
    description: 'End a task as failed, with the reason. It is not tried again.',
    done: 'failed',
  },
  release: {
    why: 'another agent is better placed',
    description: 'Release the claim. The task is open again if it has attempts left, else it fails.',
    done: 'released',
  },
}

export function giveUpCommand(context: CliContext, verb: Verb, run = giveUp): Command {
  const { why, description } = words[verb]
  const build = command(verb, `bridge task ${verb} ${exampleTask} "${why}"`)
    .description(description)
    .argument('<task_id>', 'the task', id)
    .argument('[reason]', 'why; standard input when absent or -')
  return withKey(build).action((taskId: string, reason: string | undefined, options: KeyOption) =>
    run(context, verb, { taskId, reason }, options),
  )
}

export async function giveUp(
  context: CliContext,
  verb: Verb,
  given: { readonly taskId: string; readonly reason: string | undefined },
  { key }: KeyOption,
): Promise<void> {
  const reason = await messageBody(context.io, given.reason, 'reason')
  const { bridge, paths } = await context.agent()
  const { taskId } = given
  const task = await asFirstUse(context, { of: `task ${verb}`, key }, async (first) => {
    const held = await first(taskId, () => findClaim(paths.claims, taskId))
    return bridge.tasks[verb](held, { reason }, { idempotencyKey: key, signal: context.signal })
  })
  await dropClaim(paths.claims, taskId)
  printTask(context, task, words[verb].done)
}
