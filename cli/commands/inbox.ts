/** `bridge inbox`. */
import type { OfferedMessage } from '../../sdk/index.ts'
import { type Command, command, wholeNumber } from '../command.ts'
import type { CliContext } from '../context.ts'
import { messageText } from '../message-text.ts'

export interface InboxOptions {
  readonly limit: number
}

export function inboxCommand(context: CliContext, run = inbox): Command {
  return command('inbox', 'bridge inbox')
    .description('Show the unacknowledged messages, without waiting and without acknowledging any.')
    .option('--limit <count>', 'how many at most', wholeNumber(1, 100), 50)
    .action((options: InboxOptions) => run(context, options))
}

export async function inbox(context: CliContext, { limit }: InboxOptions): Promise<void> {
  const { agent, output, clock, signal } = context
  const { bridge, profile } = await agent()
  const page = await bridge.inbox.read({ limit, signal })
  const reader = { project: profile.identity.project.name, now: clock() }
  const text = page.messages.map((message) => messageText(message, reader)).join('\n\n')
  if (output.json || page.messages.length > 0) output.result(page, text)
  output.note(countText(page.messages, page.waiting))
}

function countText(shown: readonly OfferedMessage[], waiting: number): string {
  if (waiting === 0) return 'nothing is unacknowledged'
  const rest = waiting - shown.length
  const held = rest > 0 ? `; ${rest} more come again within a minute of their last offer` : ''
  return `${waiting} unacknowledged, ${shown.length} shown${held}`
}
