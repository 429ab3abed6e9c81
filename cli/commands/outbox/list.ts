/** `bridge outbox list`. */
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

/** @throws CommandError when the outbox does not hold one of them. */
export async function requireEntries(outbox: Outbox, ids: readonly string[]): Promise<void> {
  const there = new Set((await outbox.list()).map(({ id }) => id))
  const missing = ids.filter((id) => !there.has(id))
  if (missing.length === 0) return
  throw new CommandError('not_found', `the outbox has no entry ${missing.join(', ')}`, {
    hint: 'bridge outbox list shows its entries',
  })
}

/** The first 60 characters of the message or of the request body. */
function summary({ draft, request }: ListedEntry): string {
  const text = draft === null ? (request?.body ?? '') : `to ${draft.to ?? draft.in_reply_to}: ${draft.body}`
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}
