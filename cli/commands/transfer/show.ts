/** `bridge transfer show`. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { peerNames } from '../../tasks/options.ts'
import { exampleTransfer } from '../../transfers/options.ts'
import { agentsOf, transferText } from '../../transfers/text.ts'

export function transferShowCommand(context: CliContext, run = transferShow): Command {
  return command('show', `bridge transfer show ${exampleTransfer}`)
    .description('Show a whole transfer: file, state, upload, receipt, cleanup.')
    .argument('<transfer_id>', 'the transfer', id)
    .action((transferId: string) => run(context, transferId))
}

export async function transferShow(context: CliContext, transferId: string): Promise<void> {
  const { output, clock, signal } = context
  const { transfers } = await context.bridge()
  const transfer = await transfers.get(transferId, { signal })
  output.result(transfer, transferText(transfer, await peerNames(context, agentsOf(transfer)), clock()))
}
