/** `bridge run`: starts a coding agent with our hooks and tools, for this run only. Contract §12. */
import { type Command, command, oneOf } from '../command.ts'
import type { CliContext } from '../context.ts'
import { type HarnessName, harnessNames } from '../hooks/harnesses.ts'

export function runCommand(context: CliContext, run = runHarness): Command {
  return command('run', 'bridge run claude --profile ada -- --continue')
    .description(
      'Start a coding agent that is notified of new mail and has the MCP tools, in this run only. Its settings stay as they are. The exit code is that of the coding agent.',
    )
    .argument('<harness>', harnessNames.join(', '), oneOf(harnessNames))
    .argument('[args...]', 'arguments of the coding agent, after --')
    .action((harness: HarnessName, args: readonly string[]) => run(context, harness, args))
}

export async function runHarness(
  context: CliContext,
  harness: HarnessName,
  args: readonly string[],
): Promise<void> {
  const { launch } = await import('../hooks/launch/launch.ts')
  await launch(context, harness, args)
}
