/** `bridge key create`: a key of one's own, registered. Contract §9 "Recipient key", §12. */

import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { readAgeKey, requireAgeKey, writeAgeKey } from '../../profile/age-key.ts'

export function createKeyCommand(context: CliContext, run = createKey): Command {
  return command('create', 'bridge key create')
    .description('Make the age key of this profile, if it has none, and register its public half.')
    .action(() => run(context))
}

export async function createKey(context: CliContext): Promise<void> {
  const { paths } = await context.agent()
  if ((await readAgeKey(paths)) === undefined) {
    const { newAgeKey } = await import('../../../sdk/index.ts')
    await writeAgeKey(paths.ageKey, await newAgeKey())
  }
  await registerOwn(context)
}

/** The key that is stored; the same again succeeds. */
export async function registerOwn({ agent, output, signal }: CliContext): Promise<void> {
  const { bridge, paths } = await agent()
  const { recipient } = await requireAgeKey(paths)
  const key = await bridge.recipientKeys.register(recipient, { signal })
  output.result(key, `registered ${key.fingerprint}\n${recipient}`)
}
