/** `bridge task create`. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { messageBody } from '../../messages/text-argument.ts'
import { asFirstUse } from '../../profile/first-use.ts'
import { type NewTaskOptions, newTaskFields, printTask, withNewTask } from '../../tasks/options.ts'

export function taskCreateCommand(context: CliContext, run = taskCreate): Command {
  const build = command('create', 'bridge task create ben "Count the lines" "of README.md, with wc -l"')
    .description('Create a task for a peer. The node notifies the peer with a message.')
    .argument('<peer>', 'name or id')
    .argument('<title>', 'one line of at most 200 characters')
    .argument('[instructions]', 'what to do; standard input when absent or -')
  return withNewTask(build).action(
    (peer: string, title: string, instructions: string | undefined, options: NewTaskOptions) =>
      run(context, peer, title, instructions, options),
  )
}

export async function taskCreate(
  context: CliContext,
  peer: string,
  title: string,
  text: string | undefined,
  options: NewTaskOptions,
): Promise<void> {
  const instructions = await messageBody(context.io, text, 'instructions')
  const { signal } = context
  const bridge = await context.bridge()
  const assignee_agent_id = await bridge.directory.peerId(peer, { signal })
  const { key } = options
  const task = await asFirstUse(context, { of: 'task create', key }, async (first) => {
    const fields = await newTaskFields(options, context.clock, first)
    const input = { assignee_agent_id, title, instructions, ...fields }
    return bridge.tasks.create(input, { idempotencyKey: key, signal })
  })
  printTask(context, task, 'created')
}
