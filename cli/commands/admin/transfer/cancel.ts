/** `bridge admin transfer cancel`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner } from '../../../owner/client.ts'
import { findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { printTransfer, type TransferReasonOption } from '../../../transfers/options.ts'

export type AdminTransferCancelOptions = TransferReasonOption & ProjectOption

export function cancelTransferCommand(context: CliContext, run = cancelTransfer): Command {
  const first = "$(bridge admin transfer list | awk 'NR == 2 { print $1 }')"
  const cancel = command('cancel', `bridge admin transfer cancel ${first} --reason "wrong file"`)
    .description('Cancel an open transfer. Both sides are notified, and stored bytes are removed.')
    .argument('<transfer_id>', 'the transfer', id)
    .option('--reason <text>', 'why')
  return withProject(cancel).action((transferId: string, options: AdminTransferCancelOptions) =>
    run(context, transferId, options),
  )
}

export const cancelTransfer = (
  context: CliContext,
  transferId: string,
  { reason, project: wanted }: AdminTransferCancelOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, wanted, context)
    const { signal } = context
    printTransfer(
      context,
      await owner.transfers.cancel(project.id, transferId, { reason }, { signal }),
      'cancelled',
    )
  })
