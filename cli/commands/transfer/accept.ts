/** `bridge transfer accept`. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { exampleTransfer, printTransfer } from '../../transfers/options.ts'

export function transferAcceptCommand(context: CliContext, run = transferAccept): Command {
  return command('accept', `bridge transfer accept ${exampleTransfer}`)
    .description('Accept an offer without fetching the file; receive does both.')
    .argument('<transfer_id>', 'the transfer', id)
    .action((transferId: string) => run(context, transferId))
}

export async function transferAccept(context: CliContext, transferId: string): Promise<void> {
  const { transfers } = await context.bridge()
  printTransfer(context, await transfers.accept(transferId, { signal: context.signal }), 'accepted')
}
