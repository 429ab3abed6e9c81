/**
 * `bridge inbox`: lists all unacknowledged messages, including those that were offered before.
 *
 * Like `history`, it only reads. No message is offered to it, so it never takes a message from a `listen`.
 *
 * Contract §12 "`inbox` shows all".
 */
import type { Bridge, Message } from '../../sdk/index.ts'
import { type Command, command, wholeNumber } from '../command.ts'
import type { CliContext } from '../context.ts'
import { noteRead } from '../hooks/read-mark.ts'
import { messageText } from '../messages/message-text.ts'
import { readerOf } from '../messages/opened-bodies.ts'

export interface InboxOptions {
  readonly limit: number
}

/** Capacity of an inbox. */
const most = 10_000
const pageMost = 100

export function inboxCommand(context: CliContext, run = inbox): Command {
  return command('inbox', 'bridge inbox')
    .description(
      'Show all unacknowledged messages, oldest first, without waiting and without acknowledging any.',
    )
    .option('--limit <count>', 'how many at most', wholeNumber(1, most), pageMost)
    .action((options: InboxOptions) => run(context, options))
}

export async function inbox(context: CliContext, { limit }: InboxOptions): Promise<void> {
  const { agent, output, signal } = context
  const me = await agent()
  const { bridge } = me
  const found = await read(bridge, limit, signal)
  const reader = await readerOf(me, found.messages)
  const text = found.messages.map((message) => messageText(message, reader)).join('\n\n')
  if (output.json || found.messages.length > 0) output.result(found, text)
  output.next(countText(found))
  noteRead(context)
}

interface Found {
  readonly messages: Message[]
  readonly has_more: boolean
  readonly waiting: number
}

async function read(bridge: Bridge, limit: number, signal: AbortSignal): Promise<Found> {
  const messages: Message[] = []
  for (;;) {
    const size = Math.min(pageMost, limit - messages.length)
    const page = await bridge.inbox.list({ after: messages.at(-1)?.id, limit: size, signal })
    messages.push(...page.messages)
    const isDone = !page.has_more || page.messages.length === 0 || messages.length >= limit
    if (isDone) return { messages, has_more: page.has_more, waiting: page.waiting }
  }
}

function countText({ messages, has_more: hasMore, waiting }: Found): string {
  if (waiting === 0) return 'no unacknowledged messages'
  const rest = hasMore ? `; bridge inbox --limit ${most} shows the rest` : ''
  const withheld = waiting - messages.length
  const hidden = !hasMore && withheld > 0 ? `, ${withheld} withheld for now` : ''
  return `${waiting} unacknowledged, ${messages.length} shown${hidden}${rest}`
}
