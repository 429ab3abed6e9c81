/** `bridge admin transfer show`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner } from '../../../owner/client.ts'
import { agentNames, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { transferText } from '../../../transfers/text.ts'

export function showTransferCommand(context: CliContext, run = showTransfer): Command {
  const example = `bridge admin transfer show $(bridge admin transfer list | awk 'NR == 2 { print $1 }')`
  const show = command('show', example)
    .description('Show a whole transfer: file, state, upload, receipt, cleanup.')
    .argument('<transfer_id>', 'the transfer', id)
  return withProject(show).action((transferId: string, options: ProjectOption) =>
    run(context, transferId, options),
  )
}

export const showTransfer = (
  context: CliContext,
  transferId: string,
  options: ProjectOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { signal, clock, output } = context
    const project = await findProject(owner, options.project, context)
    const transfer = await owner.transfers.get(project.id, transferId, { signal })
    output.result(transfer, transferText(transfer, await agentNames(owner, project, context), clock()))
  })
