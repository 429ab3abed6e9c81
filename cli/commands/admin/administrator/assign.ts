/** `bridge admin administrator assign` and `unassign`: set which projects a person steers. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner, confirmed, type PasswordOption } from '../../../owner/client.ts'
import { findAdministrator, findProject } from '../../../owner/names.ts'

type Verb = 'assign' | 'unassign'

const descriptions: Record<Verb, string> = {
  assign: 'Assign a project to an administrator, who can then see and steer it.',
  unassign: 'Unassign a project from an administrator, who can no longer see it from the next request on.',
}

export function assignCommand(context: CliContext, verb: Verb, run = assign): Command {
  return command(verb, `bridge admin administrator ${verb} kim demo`)
    .description(descriptions[verb])
    .argument('<administrator>', 'name or id')
    .argument('<project>', 'name or id')
    .option('--password-stdin', 'read the password from standard input, for a sign-in older than ten minutes')
    .action((administrator: string, project: string, options: PasswordOption) =>
      run(context, verb, { administrator, project }, options),
    )
}

export const assign = (
  context: CliContext,
  verb: Verb,
  wanted: { readonly administrator: string; readonly project: string },
  options: PasswordOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { id, name } = await findAdministrator(owner, wanted.administrator, context)
    const project = await findProject(owner, wanted.project, context)
    const changed = await confirmed(context, owner, options, () =>
      owner.administrators[verb](id, project.id, { signal: context.signal }),
    )
    const steers = verb === 'assign' ? 'steers' : 'no longer steers'
    context.output.result(changed, `${name} ${steers} ${project.name}`)
  })
