/** `bridge hooks`: notices about mail in the sessions of coding-agent harnesses. */
import { type Command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { hooksRunCommand } from './run.ts'

export const hooksCommand = (context: CliContext): Command =>
  group('hooks', 'bridge hooks run claude Stop')
    .description('Notices about mail in the sessions of coding-agent harnesses.')
    .addCommand(hooksRunCommand(context))
