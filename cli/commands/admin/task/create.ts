/** `bridge admin task create`. Contract §8. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { messageBody } from '../../../messages/text-argument.ts'
import { asOwner, namingKey } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { asFirstUse } from '../../../profile/first-use.ts'
import { type NewTaskOptions, newTaskFields, printTask, withNewTask } from '../../../tasks/options.ts'

export type AdminTaskOptions = NewTaskOptions & ProjectOption

export function createTaskCommand(context: CliContext, run = createTask): Command {
  const create = command(
    'create',
    'bridge admin task create ben "Count the lines" "of README.md, with wc -l"',
  )
    .description('Create a task for an agent, in its conversation with you.')
    .argument('<agent>', 'name or id')
    .argument('<title>', 'one line of at most 200 characters')
    .argument('[instructions]', 'what to do; standard input when absent or -')
  return withProject(withNewTask(create)).action(
    (agent: string, title: string, text: string | undefined, options: AdminTaskOptions) =>
      run(context, agent, title, text, options),
  )
}

export async function createTask(
  context: CliContext,
  agent: string,
  title: string,
  text: string | undefined,
  options: AdminTaskOptions,
): Promise<void> {
  const instructions = await messageBody(context.io, text, 'instructions')
  await asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const assignee_agent_id = await findAgent(owner, project, agent, context)
    const task = await namingKey(context, options.key, (key) =>
      asFirstUse(context, { of: 'admin task create', key }, async (first) => {
        const fields = await newTaskFields(options, context.clock, first)
        const input = { assignee_agent_id, title, instructions, ...fields }
        return owner.tasks.create(project.id, input, { idempotencyKey: key, signal: context.signal })
      }),
    )
    printTask(context, task, 'created')
  })
}
