/** `bridge key show`: the public half. Contract §12. */

import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { requireAgeKey } from '../../profile/age-key.ts'
import { profilePaths } from '../../profile/profile.ts'

export function showKeyCommand(context: CliContext, run = showKey): Command {
  return command('show', 'bridge key show')
    .description('Print the public half of the age key of this profile: age1…')
    .action(() => run(context))
}

export async function showKey({ home, settings, output }: CliContext): Promise<void> {
  const { recipient } = await requireAgeKey(profilePaths(home, settings.profile))
  output.result({ recipient }, recipient)
}
