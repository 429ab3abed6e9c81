/**
 * `bridge key export FILE`: writes the private key to a file with mode 0600 and never prints it. Contract
 * §12.
 */

import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { requireAgeKey, writeAgeKey } from '../../profile/age-key.ts'
import { profilePaths } from '../../profile/profile.ts'

export function exportKeyCommand(context: CliContext, run = exportKey): Command {
  return command('export', 'bridge key export backup.agekey')
    .description(
      'Write the private age key to a new file with mode 0600, for age -d -i. Anyone with this file can read everything sealed to the key.',
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
