/** `bridge hooks`: notices about mail in the sessions of coding-agent harnesses. */
import { type Command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { hooksInstallCommand } from './install.ts'
import { hooksRunCommand } from './run.ts'
import { hooksStatusCommand } from './status.ts'
import { hooksUninstallCommand } from './uninstall.ts'
import { hooksVerifyCommand } from './verify.ts'

export const hooksCommand = (context: CliContext): Command =>
  group('hooks', 'bridge hooks install claude')
    .description('Notices about mail in the sessions of coding-agent harnesses.')
    .addCommand(hooksInstallCommand(context))
    .addCommand(hooksUninstallCommand(context))
    .addCommand(hooksStatusCommand(context))
    .addCommand(hooksVerifyCommand(context))
    .addCommand(hooksRunCommand(context))
