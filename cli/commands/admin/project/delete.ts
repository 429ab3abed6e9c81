/** `bridge admin project delete`: deletes a project after its name was confirmed. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner, confirmed, type PasswordOption } from '../../../owner/client.ts'
import { findProject } from '../../../owner/names.ts'

export interface DeleteProjectOptions extends PasswordOption {
  confirm: string
}

export function deleteProjectCommand(context: CliContext, run = deleteProject): Command {
  return command('delete', 'bridge admin project delete demo --confirm demo')
    .description('Delete a project with its agents, conversations and audit. This cannot be undone.')
    .argument('<project>', 'name or id')
    .requiredOption('--confirm <name>', 'its exact name, as a confirmation')
    .option('--password-stdin', 'read the password from standard input, for a sign-in older than ten minutes')
    .action((wanted: string, options: DeleteProjectOptions) => run(context, wanted, options))
}

export const deleteProject = (
  context: CliContext,
  wanted: string,
  options: DeleteProjectOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { id, name } = await findProject(owner, wanted, context)
    const deleted = await confirmed(context, owner, options, () =>
      owner.projects.delete(id, options.confirm, { signal: context.signal }),
    )
    context.output.result(deleted, `${name} is deleted`)
  })
