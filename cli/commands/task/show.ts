/** `bridge task show`: shows a whole task with its timeline. */
import type { TaskEntry } from '../../../sdk/index.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { exampleTask, peerNames } from '../../tasks/options.ts'
import { taskText, timelineText } from '../../tasks/text.ts'

export function taskShowCommand(context: CliContext, run = taskShow): Command {
  return command('show', `bridge task show ${exampleTask}`)
    .description('Show a whole task: instructions, claim, result with evidence, timeline.')
    .argument('<task_id>', 'the task', id)
    .action((taskId: string) => run(context, taskId))
}

export async function taskShow(context: CliContext, taskId: string): Promise<void> {
  const { output, clock, signal } = context
  const { tasks } = await context.bridge()
  const task = await tasks.get(taskId, { signal })
  const timeline: TaskEntry[] = []
  for await (const entry of tasks.history(taskId, { signal })) timeline.push(entry)
  const text = taskText(task, await peerNames(context), clock())
  output.result({ task, timeline }, `${text}\n${timelineText(timeline)}`)
}
