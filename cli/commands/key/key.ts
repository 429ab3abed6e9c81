/** `bridge key`: the age key to which others encrypt for this agent. Contract §9 "Recipient key". */
import { type Command, command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { createKeyCommand } from './create.ts'
import { exportKeyCommand } from './export.ts'
import { importKeyCommand } from './import.ts'
import { showKeyCommand } from './show.ts'

export function keyCommand(context: CliContext): Command {
  return group('key', 'bridge key create')
    .description('The age key with which others encrypt messages and files for this agent.')
    .addCommand(createKeyCommand(context))
    .addCommand(showKeyCommand(context))
    .addCommand(registerKeyCommand(context))
    .addCommand(exportKeyCommand(context))
    .addCommand(importKeyCommand(context))
}

export function registerKeyCommand(context: CliContext, run = registerKey): Command {
  return command(
    'register',
    'bridge key register age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj',
  )
    .description(
      'Register a public key. Registering the same key again succeeds; only the owner can replace it.',
    )
    .argument('<recipient>', 'an age X25519 recipient: age1 and 58 characters')
    .action((recipient: string) => run(context, recipient))
}

export async function registerKey({ bridge, output, signal }: CliContext, recipient: string): Promise<void> {
  const key = await (await bridge()).recipientKeys.register(recipient, { signal })
  output.result(key, `registered ${key.fingerprint}`)
}
