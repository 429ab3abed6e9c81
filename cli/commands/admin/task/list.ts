/** `bridge admin task list`. Contract §8. */
import { type Command, command, oneOf } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import {
  agentNames,
  findAgent,
  findProject,
  gathered,
  type ProjectOption,
  withProject,
} from '../../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../../owner/order.ts'
import { whole } from '../../../owner/text.ts'
import { taskStates } from '../../../tasks/options.ts'
import { taskHeader, taskRow } from '../../../tasks/text.ts'

export interface AdminTaskListOptions extends ProjectOption, NewestOption {
  readonly state?: (typeof taskStates)[number]
  readonly agent?: string
}

export function listTasksCommand(context: CliContext, run = listTasks): Command {
  const list = command('list', 'bridge admin task list --state failed')
    .description('List the tasks of a project, oldest first by default.')
    .option('--state <state>', taskStates.join(', '), oneOf(taskStates))
    .option('--agent <agent>', 'only those given to this agent: name or id')
  return withProject(withNewest(list)).action((options: AdminTaskListOptions) => run(context, options))
}

export const listTasks = (context: CliContext, options: AdminTaskListOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const { state, agent } = options
    const { signal, clock, output } = context
    const project = await findProject(owner, options.project, context)
    const assigneeAgentId = agent === undefined ? undefined : await findAgent(owner, project, agent, context)
    const filter = { state, assigneeAgentId, ...orderOf(options), signal }
    const tasks = await gathered(owner.tasks.all(project.id, filter))
    const nameOf = await agentNames(owner, project, context)
    const rows = tasks.map((task) => taskRow(task, nameOf, clock()))
    output.table(whole('tasks', tasks), taskHeader, rows, 'no tasks')
  })
