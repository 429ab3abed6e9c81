/** `bridge admin environment create`. Contract §10. */
import type { EnvironmentInput } from '../../../../sdk/index.ts'
import { type Command, command, oneOf } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

export const kinds = [
  'laptop',
  'server',
  'container',
  'ci',
  'other',
] as const satisfies readonly EnvironmentInput['kind'][]

export interface CreateEnvironmentOptions extends ProjectOption {
  kind: EnvironmentInput['kind']
  description?: string
}

export function createEnvironmentCommand(context: CliContext, run = createEnvironment): Command {
  const create = command('create', 'bridge admin environment create desk --kind laptop')
    .description('Create an environment: a place where agents run.')
    .argument('<name>', 'unique in the project')
    .option('--kind <kind>', kinds.join(', '), oneOf(kinds), 'other' as const)
    .option('--description <text>', 'description of the environment')
  return withProject(create).action((name: string, options: CreateEnvironmentOptions) =>
    run(context, name, options),
  )
}

export const createEnvironment = (
  context: CliContext,
  name: string,
  options: CreateEnvironmentOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const { kind, description } = options
    const input = { name, kind, ...(description === undefined ? {} : { description }) }
    const made = await owner.environments.create(project.id, input, { signal: context.signal })
    context.output.result(made, `created the environment ${made.name}, ${made.id}`)
  })
