/** `bridge whoami`. */
import type { Bootstrap } from '../../sdk/index.ts'
import { fenced, oneLine } from '../../sdk/plain-text.ts'
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'

export function whoamiCommand(context: CliContext, run = whoami): Command {
  return command('whoami', 'bridge whoami')
    .description('Show the identity that this profile has at its node, as the node sees it.')
    .action(() => run(context))
}

export async function whoami(context: CliContext): Promise<void> {
  const { bridge, profile } = await context.agent()
  const bootstrap = await bridge.bootstrap.get({ signal: context.signal })
  context.output.result(bootstrap, whoamiText(bootstrap, profile.base_url))
}

function whoamiText({ agent, project, credential, server_id, instructions }: Bootstrap, url: string): string {
  const role = agent.role_name === '' ? '' : `, ${oneLine(agent.role_name)}`
  const lines = [
    `agent ${oneLine(agent.name)}${role} (${agent.id})`,
    `project ${oneLine(project.name)}, ${project.state} (${project.id})`,
    `node ${url} (${server_id})`,
    `credential ${credential.id}, ${credential.binding}-bound, scopes ${credential.scopes.join(', ')}`,
  ]
  const rest = instructions === '' ? [] : ['instructions of the owner:', fenced(instructions)]
  return [...lines.map(oneLine), ...rest].join('\n')
}
