/** `bridge admin environment show`. Contract §10. */

import { oneLine } from '../../../../sdk/plain-text.ts'
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findEnvironment, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { fields } from '../../../owner/text.ts'

export function showEnvironmentCommand(context: CliContext, run = showEnvironment): Command {
  const show = command('show', 'bridge admin environment show desk')
    .description('Show one environment.')
    .argument('<environment>', 'name or id')
  return withProject(show).action((wanted: string, options: ProjectOption) => run(context, wanted, options))
}

export const showEnvironment = (context: CliContext, wanted: string, options: ProjectOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const id = await findEnvironment(owner, project, wanted, context)
    const environment = await owner.environments.get(project.id, id, { signal: context.signal })
    const lines = fields([
      ['name', environment.name],
      ['id', environment.id],
      ['kind', environment.kind],
      ['created', environment.created_at],
      ['description', oneLine(environment.description)],
    ])
    context.output.result(environment, lines)
  })
