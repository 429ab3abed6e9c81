/** `bridge outbox list`. */
import { startOf } from '../../../sdk/plain-text.ts'
import type { ListedEntry, Outbox } from '../../../sdk/program.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { profilePaths } from '../../profile/profile.ts'
import { relative } from '../../terminal/words.ts'

export function outboxListCommand(context: CliContext, run = outboxList): Command {
  return command('list', 'bridge outbox list')
    .description('List the unsent requests, without contacting the node.')
    .action(() => run(context))
}

export async function outboxList(context: CliContext): Promise<void> {
  const entries = await (await openOutbox(context)).list()
  const now = context.clock()
  const rows = entries.map((entry) => [
    entry.id,
    entry.state,
    relative(entry.created_at, now),
    entry.request?.endpoint ?? 'messages.send',
    summary(entry),
  ])
  const header = ['ID', 'STATE', 'AGE', 'REQUEST', 'CONTENT']
  context.output.table({ entries }, header, rows, 'the outbox is empty')
}

/** Opens the outbox of the profile, also for commands that need no identity. */
export async function openOutbox({ home, settings, clock, random }: CliContext): Promise<Outbox> {
  const { Outbox: Box } = await import('../../../sdk/index.ts')
  const owner = { server_id: '', agent_id: '' }
  return new Box({ folder: profilePaths(home, settings.profile).outbox, owner, clock, random })
}

const endingLeast = 6

/**
 * Finds the ids of entries by their ids, by the ends of them, or by `last`, which is the latest entry.
 *
 * @throws CommandError for one that the outbox does not hold, and for an end of several.
 */
export async function findEntries(outbox: Outbox, named: readonly string[]): Promise<string[]> {
  const there = (await outbox.list()).map(({ id }) => id)
  const missing: string[] = []
  const found = named.flatMap((name) => {
    const entries = name === 'last' ? there.slice(-1) : there.filter((id) => isNamed(id, name))
    if (entries.length > 1)
      throw new CommandError(
        'usage',
        `more than one entry of the outbox ends like this: ${entries.join(', ')}`,
        { hint: 'give more of the end' },
      )
    if (entries.length === 0) missing.push(name)
    return entries
  })
  if (missing.length === 0) return [...new Set(found)]
  throw there.length === 0
    ? new CommandError('not_found', 'the outbox is empty')
    : new CommandError('not_found', `the outbox has no entry ${missing.join(', ')}`, {
        hint: 'bridge outbox list shows its entries',
      })
}

const isNamed = (id: string, name: string): boolean =>
  id === name || (name.length >= endingLeast && id.endsWith(name))

/** The first 60 characters of the message or of the request body. */
function summary({ draft, request }: ListedEntry): string {
  const text = draft === null ? (request?.body ?? '') : `to ${draft.to ?? draft.in_reply_to}: ${draft.body}`
  return text.length > 60 ? `${startOf(text, 59)}…` : text
}
