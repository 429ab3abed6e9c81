/** `bridge hooks uninstall`: removes what `hooks install` wrote. Contract §12. */
import { type Command, command, oneOf } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { type HarnessName, harnessNames } from '../../hooks/harnesses.ts'
import type { HooksUninstallOptions } from '../../hooks/install/run-uninstall.ts'

export function hooksUninstallCommand(context: CliContext, run = hooksUninstall): Command {
  return command('uninstall', 'bridge hooks uninstall claude')
    .description(
      'Remove the hooks of a harness: files of ours are deleted, and shared files get their former bytes back. If a shared file was edited since, only our entries are removed. A changed file of ours stays.',
    )
    .argument('<harness>', harnessNames.join(', '), oneOf(harnessNames))
    .option('--project', 'only end the use of a profile for the current folder')
    .option('--dry-run', 'print the changes without making them')
    .action((harness: HarnessName, options: HooksUninstallOptions) => run(context, harness, options))
}

export async function hooksUninstall(
  context: CliContext,
  harness: HarnessName,
  options: HooksUninstallOptions,
): Promise<void> {
  const { runUninstall } = await import('../../hooks/install/run-uninstall.ts')
  await runUninstall(context, harness, options)
}
