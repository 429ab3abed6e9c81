/** `bridge outbox drop`. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { findEntries, openOutbox } from './list.ts'

export function outboxDropCommand(context: CliContext, run = outboxDrop): Command {
  return command('drop', 'bridge outbox drop 1767225600000-AbCdEf12')
    .description('Discard entries of the outbox. Their requests may have reached the node already.')
    .argument('<id...>', 'the entries: their ids, at least 6 characters of the end, or last')
    .action((ids: readonly string[]) => run(context, ids))
}

export async function outboxDrop(context: CliContext, named: readonly string[]): Promise<void> {
  const outbox = await openOutbox(context)
  const ids = await findEntries(outbox, named)
  for (const id of ids) await outbox.remove(id)
  context.output.result({ dropped: ids }, `dropped ${ids.join(', ')}`)
}
