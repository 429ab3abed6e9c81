/** `bridge admin open`: prints the address of the owner's page. Contract §10, §11. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { loadOwnerProfile } from '../../owner/profile.ts'

export function openCommand(context: CliContext, run = open): Command {
  return command('open', 'bridge admin open')
    .description("Print the address of the owner's page, at the node of this sign-in.")
    .action(() => run(context))
}

export async function open(context: CliContext): Promise<void> {
  const profile = await loadOwnerProfile(context)
  if (profile === undefined) {
    throw new CommandError('authentication', 'not signed in', {
      hint: 'bridge admin login --url URL --name NAME signs in',
    })
  }
  const { portal_origin: origin } = profile
  context.output.result({ portal_origin: origin }, origin)
}
