/** `bridge hooks status`: what is installed, and whether it works. Contract §12. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'

export function hooksStatusCommand(context: CliContext, run = hooksStatus): Command {
  return command('status', 'bridge hooks status')
    .description(
      'Show for each harness: version, installation and trust, profile, last run of each hook, waiter, and whether the last notice led to a look into the inbox.',
    )
    .action(() => run(context))
}

export async function hooksStatus(context: CliContext): Promise<void> {
  const { runStatus } = await import('../../hooks/install/run-status.ts')
  await runStatus(context)
}
