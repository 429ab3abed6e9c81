/** `bridge key import`: an age identity from standard input. Contract §12. */
import type { AgeKey } from '../../../sdk/index.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { readAgeKey, writeAgeKey } from '../../profile/age-key.ts'
import { registerOwn } from './create.ts'

export function importKeyCommand(context: CliContext, run = importKey): Command {
  return command('import', 'bridge key import < backup.agekey')
    .description(
      'Store the age identity from standard input as the key of this profile, and register its public half.',
    )
    .action(() => run(context))
}

export async function importKey(context: CliContext): Promise<void> {
  const { paths } = await context.agent()
  const key = await readIdentity(context)
  const own = await readAgeKey(paths)
  if (own === undefined) await writeAgeKey(paths.ageKey, key)
  else if (own.recipient !== key.recipient) {
    throw new CommandError(
      'conflict',
      'this profile has another age key, which is needed to open what was sealed to it',
      {
        hint: `save it with bridge key export, then move ${paths.ageKey} away`,
      },
    )
  }
  await registerOwn(context)
}

/** Reads the identity. @throws CommandError that never repeats the input */
async function readIdentity({ io }: CliContext): Promise<AgeKey> {
  const { ageKeyOf } = await import('../../../sdk/program.ts')
  const text = await io.readAll()
  return ageKeyOf(text).catch((cause: Error) => {
    throw new CommandError('usage', `standard input: ${cause.message}`, {
      hint: 'bridge key import < FILE, where bridge key export or age-keygen wrote FILE',
      cause,
    })
  })
}
