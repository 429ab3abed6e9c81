/** `bridge admin project change`: name, description and policy. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { givenFields } from '../../../owner/change.ts'
import { asOwner } from '../../../owner/client.ts'
import { findProject } from '../../../owner/names.ts'
import { type PolicyOptions, policyOf, withPolicy } from '../../../owner/project-policy.ts'

export interface ChangeProjectOptions extends PolicyOptions<'default'> {
  name?: string
  description?: string
}

export function changeProjectCommand(context: CliContext, run = changeProject): Command {
  const change = command('change', 'bridge admin project change demo --message-budget 30')
    .description('Change the name, the description or the policy of a project. The rest stays.')
    .argument('<project>', 'name or id')
    .option('--name <name>', 'new name, unique on this node')
    .option('--description <text>', 'purpose of the project')
  return withPolicy(change, orDefault, '; or default').action(
    (project: string, options: ChangeProjectOptions) => run(context, project, options),
  )
}

/** Also accepts `default`, which clears the limit. */
const orDefault =
  (parse: (text: string) => number) =>
  (text: string): number | 'default' =>
    text === 'default' ? text : parse(text)

export const changeProject = (
  context: CliContext,
  wanted: string,
  options: ChangeProjectOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { name, description } = options
    const change = givenFields({ name, description, ...policyOf(options) })
    const { id } = await findProject(owner, wanted, context)
    const project = await owner.projects.change(id, change, { signal: context.signal })
    context.output.result(project, `changed the project ${project.name}`)
  })
