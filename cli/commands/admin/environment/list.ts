/** `bridge admin environment list`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findProject, gathered, type ProjectOption, withProject } from '../../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../../owner/order.ts'
import { whole } from '../../../owner/text.ts'

export function listEnvironmentsCommand(context: CliContext, run = listEnvironments): Command {
  const list = command('list', 'bridge admin environment list').description(
    'List the environments of a project.',
  )
  return withProject(withNewest(list)).action((options: ProjectOption & NewestOption) =>
    run(context, options),
  )
}

export const listEnvironments = (context: CliContext, options: ProjectOption & NewestOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const environments = await gathered(
      owner.environments.all(project.id, { ...orderOf(options), signal: context.signal }),
    )
    context.output.table(
      whole('environments', environments),
      ['name', 'kind', 'description', 'id'],
      environments.map(({ name, kind, description, id }) => [name, kind, description, id]),
      'no environments yet',
    )
  })
