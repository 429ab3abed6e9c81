/** `bridge task list`. */
import type { Task } from '../../../sdk/index.ts'
import { type Command, command, oneOf, wholeNumber } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { whole } from '../../owner/text.ts'
import { peerNames, taskStates } from '../../tasks/options.ts'
import { taskHeader, taskRow } from '../../tasks/text.ts'

export interface TaskListOptions {
  readonly state?: (typeof taskStates)[number]
  readonly role?: 'assignee' | 'creator'
  readonly limit?: number
}

export function taskListCommand(context: CliContext, run = taskList): Command {
  return command('list', 'bridge task list --role assignee --state open')
    .description('List the tasks that you created or that are assigned to you, oldest first.')
    .option('--state <state>', taskStates.join(', '), oneOf(taskStates))
    .option(
      '--role <role>',
      'assignee (assigned to you) or creator (created by you)',
      oneOf(['assignee', 'creator']),
    )
    .option('--limit <count>', 'how many at most (default all)', wholeNumber(1, 100_000))
    .action((options: TaskListOptions) => run(context, options))
}

export async function taskList(context: CliContext, { limit, ...filter }: TaskListOptions): Promise<void> {
  const { output, clock, signal } = context
  const { tasks } = await context.bridge()
  const found: Task[] = []
  for await (const task of tasks.all({ ...filter, signal })) {
    if (found.length === limit) {
      output.note(`there are more than ${limit}`)
      break
    }
    found.push(task)
  }
  const nameOf = await peerNames(context)
  const rows = found.map((task) => taskRow(task, nameOf, clock()))
  output.table(whole('tasks', found), taskHeader, rows, 'no tasks')
}
