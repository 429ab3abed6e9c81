/** `bridge admin agent create`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findEnvironment, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { readTextFile } from '../../../owner/text-file.ts'

export interface CreateAgentOptions extends ProjectOption {
  role?: string
  description?: string
  environment?: string
  promptFile?: string
}

export function createAgentCommand(context: CliContext, run = createAgent): Command {
  const create = command('create', 'bridge admin agent create ada --role reviewer')
    .description('Create an agent. Then bridge admin enrollment create connects it.')
    .argument('<name>', 'unique in the project')
    .option('--role <text>', 'its role, in a word or two')
    .option('--description <text>', 'description that its peers can see')
    .option('--environment <environment>', 'name or id of the place where it runs')
    .option(
      '--prompt-file <file>',
      'prompt template, part of its instructions at bootstrap; - is standard input',
    )
  return withProject(create).action((name: string, options: CreateAgentOptions) =>
    run(context, name, options),
  )
}

export const createAgent = (context: CliContext, name: string, options: CreateAgentOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const { role, description, environment, promptFile } = options
    const prompt = promptFile === undefined ? undefined : await readTextFile(context, promptFile)
    const project = await findProject(owner, options.project, context)
    const environmentId =
      environment === undefined ? undefined : await findEnvironment(owner, project, environment, context)
    const input = {
      name,
      ...(role === undefined ? {} : { role_name: role }),
      ...(description === undefined ? {} : { description }),
      ...(prompt === undefined ? {} : { prompt_template: prompt }),
      ...(environmentId === undefined ? {} : { environment_id: environmentId }),
    }
    const created = await owner.agents.create(project.id, input, { signal: context.signal })
    context.output.result(created, `created the agent ${created.agent.name}, ${created.agent.id}`)
  })
