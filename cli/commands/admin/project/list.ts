/** `bridge admin project list`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { gathered } from '../../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../../owner/order.ts'
import { whole } from '../../../owner/text.ts'

export function listProjectsCommand(context: CliContext, run = listProjects): Command {
  const list = command('list', 'bridge admin project list').description('List the projects that you may see.')
  return withNewest(list).action((options: NewestOption) => run(context, options))
}

export const listProjects = (context: CliContext, options: NewestOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const projects = await gathered(owner.projects.all({ ...orderOf(options), signal: context.signal }))
    context.output.table(
      whole('projects', projects),
      ['name', 'state', 'created', 'id'],
      projects.map(({ name, state, created_at, id }) => [name, state, created_at, id]),
      'no projects yet',
    )
  })
