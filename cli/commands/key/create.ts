/**
 * `bridge key create`: creates the key of this profile and registers it. Contract §9 "Recipient key", §12.
 */

import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { readAgeKey, requireAgeKey, writeAgeKey } from '../../profile/age-key.ts'

export function createKeyCommand(context: CliContext, run = createKey): Command {
  return command('create', 'bridge key create')
    .description('Create the age key of this profile, if it has none, and register its public half.')
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

/** Registers the stored key. Registering the same key again succeeds. */
export async function registerOwn({ agent, output, signal }: CliContext): Promise<void> {
  const { bridge, paths } = await agent()
  const { recipient } = await requireAgeKey(paths)
  const key = await bridge.recipientKeys.register(recipient, { signal })
  output.result(key, `registered ${key.fingerprint}\n${recipient}`)
}
