/** `bridge hooks install`: makes a harness run our hooks. Contract §12. */
import { type Command, command, oneOf } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { type HarnessName, harnessNames } from '../../hooks/harnesses.ts'
import type { HooksInstallOptions } from '../../hooks/install/run-install.ts'

export function hooksInstallCommand(context: CliContext, run = hooksInstall): Command {
  return command('install', 'bridge hooks install claude --profile ada')
    .description(
      'Make a harness tell its sessions of new mail: hooks, and the MCP server for reading and answering. Prints each file that it writes, and what you have to do by hand. Running it again updates the installation.',
    )
    .argument('<harness>', harnessNames.join(', '), oneOf(harnessNames))
    .option('--project', 'use the profile for sessions in the current folder only')
    .option('--dry-run', 'print the changes without making them')
    .option('--trust', "Codex only: trust these hooks and no others, as you can do in Codex's /hooks")
    .option('--no-mcp', 'do not register the MCP server')
    .option(
      '--allow <what>',
      'read (reading commands and tools need no permission) or none (the rules of the harness apply)',
      oneOf(['read', 'none']),
      'read',
    )
    .action((harness: HarnessName, _options: unknown, typed: Command) =>
      run(context, harness, typed.optsWithGlobals<HooksInstallOptions>()),
    )
}

export async function hooksInstall(
  context: CliContext,
  harness: HarnessName,
  options: HooksInstallOptions,
): Promise<void> {
  const { runInstall } = await import('../../hooks/install/run-install.ts')
  await runInstall(context, harness, options)
}
