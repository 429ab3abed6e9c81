/** `bridge transfer decline`. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { exampleTransfer, printTransfer, type TransferReasonOption } from '../../transfers/options.ts'

export function transferDeclineCommand(context: CliContext, run = transferDecline): Command {
  return command('decline', `bridge transfer decline ${exampleTransfer} --reason "not needed"`)
    .description('Decline a file that was offered to you.')
    .argument('<transfer_id>', 'the transfer', id)
    .option('--reason <text>', 'why')
    .action((transferId: string, options: TransferReasonOption) => run(context, transferId, options))
}

export async function transferDecline(
  context: CliContext,
  transferId: string,
  { reason }: TransferReasonOption,
): Promise<void> {
  const { transfers } = await context.bridge()
  printTransfer(
    context,
    await transfers.decline(transferId, { reason }, { signal: context.signal }),
    'declined',
  )
}
