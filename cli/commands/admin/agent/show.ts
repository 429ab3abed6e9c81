/** `bridge admin agent show`. Contract §10. */

import { oneLine } from '../../../../sdk/plain-text.ts'
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { fields } from '../../../owner/text.ts'
import { connectionWords } from '../../../terminal/words.ts'

export function showAgentCommand(context: CliContext, run = showAgent): Command {
  const show = command('show', 'bridge admin agent show ada')
    .description('Show one agent.')
    .argument('<agent>', 'name or id')
  return withProject(show).action((agent: string, options: ProjectOption) => run(context, agent, options))
}

export const showAgent = (context: CliContext, wanted: string, options: ProjectOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, wanted, context)
    const agent = await owner.agents.get(project.id, agentId, { signal: context.signal })
    const lines = fields([
      ['name', agent.name],
      ['id', agent.id],
      ['role', agent.role_name],
      ['state', agent.state],
      ['connection', connectionWords(agent.connection, context.clock())],
      ['environment', agent.environment_id ?? 'none'],
      ['recipient key', agent.recipient_key?.recipient ?? 'none'],
      ['created', agent.created_at],
      ['description', oneLine(agent.description)],
      ['prompt', oneLine(agent.prompt_template)],
    ])
    context.output.result(agent, lines)
  })
