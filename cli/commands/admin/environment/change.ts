/** `bridge admin environment change`: name, kind and description. Contract §10. */
import type { EnvironmentInput } from '../../../../sdk/index.ts'
import { type Command, command, oneOf } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { givenFields } from '../../../owner/change.ts'
import { asOwner } from '../../../owner/client.ts'
import { findEnvironment, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { kinds } from './create.ts'

export interface ChangeEnvironmentOptions extends ProjectOption {
  name?: string
  kind?: EnvironmentInput['kind']
  description?: string
}

export function changeEnvironmentCommand(context: CliContext, run = changeEnvironment): Command {
  const change = command('change', 'bridge admin environment change desk --kind server')
    .description('Change the name, the kind or the description of an environment. The rest stays.')
    .argument('<environment>', 'name or id')
    .option('--name <name>', 'new name, unique in the project')
    .option('--kind <kind>', kinds.join(', '), oneOf(kinds))
    .option('--description <text>', 'description of the environment')
  return withProject(change).action((environment: string, options: ChangeEnvironmentOptions) =>
    run(context, environment, options),
  )
}

export const changeEnvironment = (
  context: CliContext,
  wanted: string,
  options: ChangeEnvironmentOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { name, kind, description } = options
    const change = givenFields({ name, kind, description })
    const project = await findProject(owner, options.project, context)
    const id = await findEnvironment(owner, project, wanted, context)
    const environment = await owner.environments.change(project.id, id, change, { signal: context.signal })
    context.output.result(environment, `changed the environment ${environment.name}`)
  })
