/** `bridge transfer cleanup`. */
import { type Command, command, id } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { exampleTransfer, forgetSealedCopy, tellTransfer } from '../../transfer-options.ts'

export function transferCleanupCommand(context: CliContext, run = transferCleanup): Command {
  return command('cleanup', `bridge transfer cleanup ${exampleTransfer}`)
    .description('Report that nothing of an ended transfer is left on this machine.')
    .argument('<transfer_id>', 'the transfer', id)
    .action((transferId: string) => run(context, transferId))
}

export async function transferCleanup(context: CliContext, transferId: string): Promise<void> {
  const { bridge, paths } = await context.agent()
  const { transfers } = bridge
  tellTransfer(context, await transfers.cleanup(transferId, { signal: context.signal }), 'reported for')
  await forgetSealedCopy(paths, transferId)
}
