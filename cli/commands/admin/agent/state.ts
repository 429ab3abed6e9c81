/** `bridge admin agent state`: enable or disable. Contract §10. */
import type { Agent } from '../../../../sdk/index.ts'
import { type Command, command, oneOf } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

type AgentState = Agent['state']
const states = ['enabled', 'disabled'] as const satisfies readonly AgentState[]

export function agentStateCommand(context: CliContext, run = setAgentState): Command {
  const state = command('state', 'bridge admin agent state ada disabled')
    .description('Enable or disable an agent. Disabling fences its session immediately.')
    .argument('<agent>', 'name or id')
    .argument('<state>', states.join(' or '), oneOf(states))
  return withProject(state).action((agent: string, wished: AgentState, options: ProjectOption) =>
    run(context, agent, wished, options),
  )
}

export const setAgentState = (
  context: CliContext,
  agent: string,
  wished: AgentState,
  options: ProjectOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, agent, context)
    const set = await owner.agents.setState(project.id, agentId, wished, { signal: context.signal })
    context.output.result(set, `${agent} is ${set.state}`)
  })
