/** `bridge transfer cleanup`. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { exampleTransfer, printTransfer } from '../../transfers/options.ts'

export function transferCleanupCommand(context: CliContext, run = transferCleanup): Command {
  return command('cleanup', `bridge transfer cleanup ${exampleTransfer}`)
    .description(
      'Delete the leftover files of an ended transfer on this machine, and report that to the node.',
    )
    .argument('<transfer_id>', 'the transfer', id)
    .action((transferId: string) => run(context, transferId))
}

export async function transferCleanup(context: CliContext, transferId: string): Promise<void> {
  const { bridge, paths } = await context.agent()
  const { transfers } = bridge
  const { signal } = context
  const { finalTransferStates } = await import('../../../sdk/program.ts')
  const { state } = await transfers.get(transferId, { signal })
  if (finalTransferStates.has(state)) await transfers.forget(transferId, paths.transfers)
  printTransfer(context, await transfers.cleanup(transferId, { signal }), 'reported cleanup of')
}
