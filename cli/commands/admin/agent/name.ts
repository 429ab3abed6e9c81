/** `bridge admin agent name`: rename. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

export function nameAgentCommand(context: CliContext, run = nameAgent): Command {
  const name = command('name', 'bridge admin agent name eve eva')
    .description('Rename an agent. Its id, history and credentials stay.')
    .argument('<agent>', 'name or id')
    .argument('<new_name>', 'unique in the project')
  return withProject(name).action((agent: string, newName: string, options: ProjectOption) =>
    run(context, { agent, newName }, options),
  )
}

export const nameAgent = (
  context: CliContext,
  { agent, newName }: { readonly agent: string; readonly newName: string },
  options: ProjectOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, agent, context)
    const named = await owner.agents.rename(project.id, agentId, newName, { signal: context.signal })
    context.output.result(named, `${agent} is now ${named.name}`)
  })
