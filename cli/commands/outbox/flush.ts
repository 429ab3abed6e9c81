/** `bridge outbox flush`. */
import type { Flushed } from '../../../sdk/index.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { flushedText } from '../../profile/agent.ts'
import { findEntries, openOutbox } from './list.ts'

export function outboxFlushCommand(context: CliContext, run = outboxFlush): Command {
  return command('flush', 'bridge outbox flush')
    .description(
      'Send the entries of the outbox, oldest first. An entry older than six days is sent only if you name it.',
    )
    .argument('[id...]', 'exactly these entries: their ids, at least 6 characters of the end, or last')
    .action((ids: readonly string[]) => run(context, ids))
}

export async function outboxFlush(context: CliContext, named: readonly string[]): Promise<void> {
  const { bridge, output, signal } = context
  const ids = await findEntries(await openOutbox(context), named)
  const unsent: Flushed[] = []
  let sent = 0
  for await (const flushed of (await bridge()).flush(ids.length === 0 ? undefined : ids, { signal })) {
    output.item(wireOf(flushed), flushedText(flushed))
    if (flushed.outcome === 'sent') sent += 1
    else unsent.push(flushed)
  }
  if (unsent.length > 0) {
    throw new CommandError('conflict', `the node refused ${unsent.length} of ${sent + unsent.length}`)
  }
  if (sent === 0) output.note('nothing was due')
}

const wireOf = ({ entry, outcome, answer, error }: Flushed) => ({
  id: entry.id,
  outcome,
  ...(outcome === 'sent' ? { answer } : { reason: error?.message ?? '' }),
})
