/** `bridge key export FILE`: the private half, into a file that only this user reads; never printed. Contract §12. */

import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { requireAgeKey, writeAgeKey } from '../../profile/age-key.ts'
import { profilePaths } from '../../profile/profile.ts'

export function exportKeyCommand(context: CliContext, run = exportKey): Command {
  return command('export', 'bridge key export backup.agekey')
    .description(
      'Write the private age key to a new file, 0600, as age -d -i reads it. Whoever has it reads all.',
    )
    .argument('<file>', 'a file that does not exist')
    .action((file: string) => run(context, file))
}

export async function exportKey({ home, settings, output }: CliContext, file: string): Promise<void> {
  const key = await requireAgeKey(profilePaths(home, settings.profile))
  await writeAgeKey(file, key)
  output.result(
    { path: file, recipient: key.recipient },
    `wrote the private key of ${key.recipient} to ${file}`,
  )
}
