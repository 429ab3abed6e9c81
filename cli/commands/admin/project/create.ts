/** `bridge admin project create`. Contract §10. */
import type { Project } from '../../../../sdk/index.ts'
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { type PolicyOptions, policyOf, withPolicy } from '../../../owner/project-policy.ts'

export interface CreateProjectOptions extends PolicyOptions {
  description?: string
}

export function createProjectCommand(context: CliContext, run = createProject): Command {
  const create = command('create', 'bridge admin project create demo')
    .description('Create a project, which is active immediately.')
    .argument('<name>', 'unique on this node')
    .option('--description <text>', 'purpose of the project')
  return withPolicy(create).action((name: string, options: CreateProjectOptions) =>
    run(context, name, options),
  )
}

export const createProject = (
  context: CliContext,
  name: string,
  options: CreateProjectOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { description } = options
    const input = { name, ...policyOf(options), ...(description === undefined ? {} : { description }) }
    const project: Project = await owner.projects.create(input, { signal: context.signal })
    context.output.result(project, `created the project ${project.name}, ${project.id}`)
  })
