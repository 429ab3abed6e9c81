/**
 * `bridge admin administrator link`: prints a new one-time link, such as after a lost password. Contract §10.
 */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner, confirmed } from '../../../owner/client.ts'
import { findAdministrator } from '../../../owner/names.ts'
import { type LinkOptions, printLink, ttlOf, withLink } from './create.ts'

export function linkAdministratorCommand(context: CliContext, run = linkAdministrator): Command {
  const link = command('link', 'bridge admin administrator link kim')
    .description(
      'Print a new one-time link for an administrator who lost the password. The previous link is no longer valid.',
    )
    .argument('<administrator>', 'name or id')
  return withLink(link).action((wanted: string, options: LinkOptions) => run(context, wanted, options))
}

export const linkAdministrator = (context: CliContext, wanted: string, options: LinkOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const { id } = await findAdministrator(owner, wanted, context)
    const issued = await confirmed(context, owner, options, () =>
      owner.administrators.link(id, ttlOf(options), { signal: context.signal }),
    )
    printLink(context, issued)
  })
