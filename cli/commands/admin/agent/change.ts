/** `bridge admin agent change`: role, description, prompt and environment. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { givenFields } from '../../../owner/change.ts'
import { asOwner } from '../../../owner/client.ts'
import {
  findAgent,
  findEnvironment,
  findProject,
  type ProjectOption,
  withProject,
} from '../../../owner/names.ts'
import { readTextFile } from '../../../owner/text-file.ts'

export interface ChangeAgentOptions extends ProjectOption {
  role?: string
  description?: string
  /** False for `--no-environment`. */
  environment?: string | false
  promptFile?: string
}

export function changeAgentCommand(context: CliContext, run = changeAgent): Command {
  const change = command('change', 'bridge admin agent change ada --role builder')
    .description(
      'Change the role, the description, the prompt or the environment of an agent. The rest stays.',
    )
    .argument('<agent>', 'name or id')
    .option('--role <text>', 'its role, in a word or two; "" clears it')
    .option('--description <text>', 'description that its peers can see')
    .option('--environment <environment>', 'name or id of the place where it runs')
    .option('--no-environment', 'the agent belongs to no environment')
    .option(
      '--prompt-file <file>',
      'prompt template, part of its instructions at bootstrap; - is standard input',
    )
  return withProject(change).action((agent: string, options: ChangeAgentOptions) =>
    run(context, agent, options),
  )
}

export const changeAgent = (
  context: CliContext,
  wanted: string,
  options: ChangeAgentOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { role, description, environment, promptFile } = options
    const { signal } = context
    givenFields({ role, description, environment, promptFile })
    const prompt = promptFile === undefined ? undefined : await readTextFile(context, promptFile)
    const project = await findProject(owner, options.project, context)
    const id = await findAgent(owner, project, wanted, context)
    const placed =
      typeof environment === 'string'
        ? await findEnvironment(owner, project, environment, context)
        : environment
    const change = givenFields({
      role_name: role,
      description,
      prompt_template: prompt,
      environment_id: placed === false ? null : placed,
    })
    const agent = await owner.agents.change(project.id, id, change, { signal })
    context.output.result(agent, `changed the agent ${agent.name}`)
  })
