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

/** The outbox cannot tell whether that command still runs. */
const hint = 'if it was killed, the entry is due 2 minutes after it began'

export async function outboxFlush(context: CliContext, named: readonly string[]): Promise<void> {
  const { bridge, output, signal } = context
  const outbox = await openOutbox(context)
  const ids = await findEntries(outbox, named)
  const unsent: Flushed[] = []
  const done = new Set<string>()
  let sent = 0
  for await (const flushed of (await bridge()).flush(ids.length === 0 ? undefined : ids, { signal })) {
    output.item(wireOf(flushed), flushedText(flushed))
    done.add(flushed.entry.id)
    if (flushed.outcome === 'sent') sent += 1
    else unsent.push(flushed)
  }
  const { isOutcomeUnknown } = await import('../../../sdk/program.ts')
  const unclear = unsent.find(({ error }) => isOutcomeUnknown(error))
  if (unclear !== undefined) throw unclear.error
  if (unsent.length > 0) {
    throw new CommandError('conflict', `the node refused ${unsent.length} of ${sent + unsent.length}`)
  }
  const sending = (await outbox.list()).flatMap(({ id, state }) => (state === 'sending' ? [id] : []))
  const taken = sending.filter((id) => ids.includes(id) && !done.has(id))
  if (taken.length > 0)
    throw new CommandError('conflict', `another command is sending ${taken.join(', ')}`, { hint })
  if (sending.length > 0) output.note(`another command is sending ${sending.join(', ')}; ${hint}`)
  else if (sent === 0) output.note('nothing was due')
}

const wireOf = ({ entry, outcome, answer, error }: Flushed) => ({
  id: entry.id,
  outcome,
  ...(outcome === 'sent' ? { answer } : { reason: error?.message ?? '' }),
})
