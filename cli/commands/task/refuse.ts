/**
 * `bridge task decline` and `cancel`: end a task from the side that has no claim on it. Contract §8.
 */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { exampleTask, printTask, type ReasonOption, withKey } from '../../tasks/options.ts'

type Verb = 'decline' | 'cancel'

const words: Record<Verb, { readonly why: string; readonly description: string; readonly done: string }> = {
  decline: {
    why: 'not my part of the code',
    description: 'Refuse an open task that is assigned to you.',
    done: 'declined',
  },
  cancel: {
    why: 'no longer needed',
    description: 'Cancel a task that you created. The agent that holds it is asked to stop.',
    done: 'requested cancellation of',
  },
}

export function refuseCommand(context: CliContext, verb: Verb, run = refuse): Command {
  const { why, description } = words[verb]
  const build = command(verb, `bridge task ${verb} ${exampleTask} --reason "${why}"`)
    .description(description)
    .argument('<task_id>', 'the task', id)
    .option('--reason <text>', 'why')
  return withKey(build).action((taskId: string, options: ReasonOption) => run(context, verb, taskId, options))
}

export async function refuse(
  context: CliContext,
  verb: Verb,
  taskId: string,
  { reason, key }: ReasonOption,
): Promise<void> {
  const { tasks } = await context.bridge()
  const call = { idempotencyKey: key, signal: context.signal }
  printTask(context, await tasks[verb](taskId, { reason }, call), words[verb].done)
}
