/** `bridge transfer`: sends files from agent to agent. The recipient verifies them. Contract §9, §12. */
import { type Command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { transferAcceptCommand } from './accept.ts'
import { transferCancelCommand } from './cancel.ts'
import { transferCleanupCommand } from './cleanup.ts'
import { transferDeclineCommand } from './decline.ts'
import { transferListCommand } from './list.ts'
import { transferReceiveCommand } from './receive.ts'
import { transferSendCommand } from './send.ts'
import { transferShowCommand } from './show.ts'

export function transferCommand(context: CliContext): Command {
  return group('transfer', 'bridge transfer send report.pdf --to ben')
    .description('Files from one agent to another, verified by the recipient.')
    .addCommand(transferSendCommand(context))
    .addCommand(transferReceiveCommand(context))
    .addCommand(transferListCommand(context))
    .addCommand(transferShowCommand(context))
    .addCommand(transferAcceptCommand(context))
    .addCommand(transferDeclineCommand(context))
    .addCommand(transferCancelCommand(context))
    .addCommand(transferCleanupCommand(context))
}
