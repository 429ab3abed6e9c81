/** `bridge task`: work that is claimed and ends with a result and evidence. Contract §8, §12. */
import { type Command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { taskClaimCommand } from './claim.ts'
import { taskCompleteCommand } from './complete.ts'
import { taskCreateCommand } from './create.ts'
import { giveUpCommand } from './give-up.ts'
import { taskListCommand } from './list.ts'
import { taskProgressCommand } from './progress.ts'
import { refuseCommand } from './refuse.ts'
import { taskRenewCommand } from './renew.ts'
import { taskRunCommand } from './run.ts'
import { taskShowCommand } from './show.ts'
import { taskStoppedCommand } from './stopped.ts'

export function taskCommand(context: CliContext): Command {
  return group('task', 'bridge task list --role assignee')
    .description('Work for one agent: claimed for a limited time, and completed with a result and evidence.')
    .addCommand(taskCreateCommand(context))
    .addCommand(taskListCommand(context))
    .addCommand(taskShowCommand(context))
    .addCommand(taskClaimCommand(context))
    .addCommand(taskRenewCommand(context))
    .addCommand(taskProgressCommand(context))
    .addCommand(taskCompleteCommand(context))
    .addCommand(giveUpCommand(context, 'fail'))
    .addCommand(giveUpCommand(context, 'release'))
    .addCommand(refuseCommand(context, 'decline'))
    .addCommand(refuseCommand(context, 'cancel'))
    .addCommand(taskStoppedCommand(context))
    .addCommand(taskRunCommand(context))
}
