/** `bridge admin agent list`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findProject, gathered, type ProjectOption, withProject } from '../../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../../owner/order.ts'
import { whole } from '../../../owner/text.ts'
import { connectionWords } from '../../../terminal/words.ts'

export function listAgentsCommand(context: CliContext, run = listAgents): Command {
  const list = command('list', 'bridge admin agent list').description(
    'List the agents of a project with their connection state.',
  )
  return withProject(withNewest(list)).action((options: ProjectOption & NewestOption) =>
    run(context, options),
  )
}

export const listAgents = (context: CliContext, options: ProjectOption & NewestOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agents = await gathered(
      owner.agents.all(project.id, { ...orderOf(options), signal: context.signal }),
    )
    context.output.table(
      whole('agents', agents),
      ['name', 'role', 'state', 'connection', 'id'],
      agents.map((each) => [
        each.name,
        each.role_name,
        each.state,
        connectionWords(each.connection, context.clock()),
        each.id,
      ]),
      'no agents yet',
    )
  })
