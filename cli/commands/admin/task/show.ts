/** `bridge admin task show`: shows a whole task with its timeline. Contract §8. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner } from '../../../owner/client.ts'
import { agentNames, findProject, gathered, type ProjectOption, withProject } from '../../../owner/names.ts'
import { showPage } from '../../../owner/page.ts'
import { taskText, timelineText } from '../../../tasks/text.ts'

export function showTaskCommand(context: CliContext, run = showTask): Command {
  const example = `bridge admin task show $(bridge admin task list | awk 'NR == 2 { print $1 }')`
  const show = command('show', example)
    .description('Show a whole task with its timeline.')
    .argument('<task_id>', 'the task', id)
  return withProject(show).action((taskId: string, options: ProjectOption) => run(context, taskId, options))
}

export const showTask = (context: CliContext, taskId: string, options: ProjectOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const { signal, clock, output } = context
    const project = await findProject(owner, options.project, context)
    const task = await owner.tasks.get(project.id, taskId, { signal })
    const timeline = await gathered(owner.tasks.history(project.id, taskId, { signal }))
    const text = taskText(task, await agentNames(owner, project, context), clock())
    output.result({ task, timeline }, `${text}\n${timelineText(timeline)}`)
    await showPage(context, `/projects/${project.id}/tasks/${task.id}`)
  })
