/** `bridge admin pairing list`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { agentNames, findProject, gathered, type ProjectOption, withProject } from '../../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../../owner/order.ts'
import { whole } from '../../../owner/text.ts'

export function listPairingsCommand(context: CliContext, run = listPairings): Command {
  const list = command('list', 'bridge admin pairing list').description(
    'List which agents of a project may talk to each other.',
  )
  return withProject(withNewest(list)).action((options: ProjectOption & NewestOption) =>
    run(context, options),
  )
}

export const listPairings = (context: CliContext, options: ProjectOption & NewestOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const pairings = await gathered(
      owner.pairings.all(project.id, { ...orderOf(options), signal: context.signal }),
    )
    const nameOf = await agentNames(owner, project, context)
    context.output.table(
      whole('pairings', pairings),
      ['agent', 'agent', 'state', 'since'],
      pairings.map(({ agent_ids, enabled, updated_at }) => [
        ...agent_ids.map(nameOf),
        enabled ? 'enabled' : 'disabled',
        updated_at,
      ]),
      'no pairings yet; agents are paired when they start a session',
    )
  })
