/** `bridge transfer list`. */
import type { TransferSummary } from '../../../sdk/index.ts'
import { type Command, command, oneOf, wholeNumber } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { whole } from '../../owner/text.ts'
import { peerNames } from '../../tasks/options.ts'
import { transferStates } from '../../transfers/options.ts'
import { agentsOf, transferHeader, transferRow } from '../../transfers/text.ts'

export interface TransferListOptions {
  readonly state?: (typeof transferStates)[number]
  readonly role?: 'sender' | 'recipient'
  readonly limit?: number
}

export function transferListCommand(context: CliContext, run = transferList): Command {
  return command('list', 'bridge transfer list --role recipient --state offered')
    .description('List the files that you offered or that were offered to you, oldest first.')
    .option('--state <state>', transferStates.join(', '), oneOf(transferStates))
    .option(
      '--role <role>',
      'sender (offered by you) or recipient (offered to you)',
      oneOf(['sender', 'recipient']),
    )
    .option('--limit <count>', 'how many at most (default all)', wholeNumber(1, 100_000))
    .action((options: TransferListOptions) => run(context, options))
}

export async function transferList(
  context: CliContext,
  { limit, ...filter }: TransferListOptions,
): Promise<void> {
  const { output, clock, signal } = context
  const { transfers } = await context.bridge()
  const found: TransferSummary[] = []
  for await (const transfer of transfers.all({ ...filter, signal })) {
    if (found.length === limit) {
      output.note(`there are more than ${limit}`)
      break
    }
    found.push(transfer)
  }
  const nameOf = await peerNames(context, found.flatMap(agentsOf))
  const rows = found.map((transfer) => transferRow(transfer, nameOf, clock()))
  output.table(whole('transfers', found), transferHeader, rows, 'no transfers')
}
