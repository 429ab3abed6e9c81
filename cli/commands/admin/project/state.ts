/** `bridge admin project state`: activate, pause or archive. Contract §10. */
import type { ProjectState } from '../../../../sdk/index.ts'
import { type Command, command, oneOf } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { findProject } from '../../../owner/names.ts'

const states = ['active', 'paused', 'archived'] as const satisfies readonly ProjectState[]

export function projectStateCommand(context: CliContext, run = setProjectState): Command {
  return command('state', 'bridge admin project state demo paused')
    .description('Activate, pause or archive a project. An archived project must be paused first.')
    .argument('<project>', 'name or id')
    .argument('<state>', states.join(', '), oneOf(states))
    .action((project: string, state: ProjectState) => run(context, project, state))
}

export const setProjectState = (context: CliContext, wanted: string, state: ProjectState): Promise<void> =>
  asOwner(context, async (owner) => {
    const { id, name } = await findProject(owner, wanted, context)
    const set = await owner.projects.setState(id, state, { signal: context.signal })
    context.output.result(set, `${name} is ${set.state}`)
  })
