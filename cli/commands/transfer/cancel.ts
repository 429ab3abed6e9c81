/** `bridge transfer cancel`. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { exampleTransfer, printTransfer, type TransferReasonOption } from '../../transfers/options.ts'

export function transferCancelCommand(context: CliContext, run = transferCancel): Command {
  return command('cancel', `bridge transfer cancel ${exampleTransfer} --reason "wrong file"`)
    .description('Cancel an open transfer; its stored bytes are removed.')
    .argument('<transfer_id>', 'the transfer', id)
    .option('--reason <text>', 'why')
    .action((transferId: string, options: TransferReasonOption) => run(context, transferId, options))
}

export async function transferCancel(
  context: CliContext,
  transferId: string,
  { reason }: TransferReasonOption,
): Promise<void> {
  const { bridge, paths } = await context.agent()
  const { transfers } = bridge
  printTransfer(
    context,
    await transfers.cancel(transferId, { reason }, { signal: context.signal }),
    'cancelled',
  )
  await transfers.forget(transferId, paths.transfers)
}
