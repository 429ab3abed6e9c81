/** `bridge admin transfer list`. Contract §10. */
import { type Command, command, oneOf } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { agentNames, findProject, gathered, type ProjectOption, withProject } from '../../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../../owner/order.ts'
import { whole } from '../../../owner/text.ts'
import { transferStates } from '../../../transfers/options.ts'
import { transferHeader, transferRow } from '../../../transfers/text.ts'

export interface AdminTransferListOptions extends ProjectOption, NewestOption {
  readonly state?: (typeof transferStates)[number]
}

export function listTransfersCommand(context: CliContext, run = listTransfers): Command {
  const list = command('list', 'bridge admin transfer list --state accepted')
    .description('List the transfers of a project, oldest first by default, without endpoints and tokens.')
    .option('--state <state>', transferStates.join(', '), oneOf(transferStates))
  return withProject(withNewest(list)).action((options: AdminTransferListOptions) => run(context, options))
}

export const listTransfers = (context: CliContext, options: AdminTransferListOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const { signal, clock, output } = context
    const project = await findProject(owner, options.project, context)
    const filter = { state: options.state, ...orderOf(options), signal }
    const transfers = await gathered(owner.transfers.all(project.id, filter))
    const nameOf = await agentNames(owner, project, context)
    const rows = transfers.map((transfer) => transferRow(transfer, nameOf, clock()))
    output.table(whole('transfers', transfers), transferHeader, rows, 'no transfers')
  })
