/** `bridge history`. */

import { shellWord } from '../../sdk/contract/spelling.ts'
import type { Bridge, Message, MessagePage } from '../../sdk/index.ts'
import { type Command, command, wholeNumber } from '../command.ts'
import type { CliContext } from '../context.ts'
import { messageText } from '../messages/message-text.ts'
import { readerOf } from '../messages/opened-bodies.ts'

export interface HistoryOptions {
  readonly after?: number
  readonly limit: number
}

export function historyCommand(context: CliContext, run = history): Command {
  return command('history', 'bridge history ben --limit 5')
    .description(
      'Show the conversation with a peer or the owner, oldest first; by default its latest messages.',
    )
    .argument('<peer>', 'name or id, or "owner"')
    .option('--after <number>', 'start after this message number', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--limit <count>', 'how many at most', wholeNumber(1, 100), 20)
    .action((peer: string, options: HistoryOptions) => run(context, peer, options))
}

export async function history(context: CliContext, peer: string, options: HistoryOptions): Promise<void> {
  const { agent, output } = context
  const me = await agent()
  const page = await readHistory(context, peer, options)
  const reader = await readerOf(me, page.messages)
  const text = page.messages.map((message: Message) => messageText(message, reader)).join('\n\n')
  if (output.json || page.messages.length > 0) output.result(page, text)
  else
    output.note(options.after === undefined ? 'no messages yet' : `no messages after number ${options.after}`)
  const gap = page.retention_gap?.removed_through_sequence
  if (gap !== undefined) output.note(`messages through number ${gap} were removed by retention`)
  if (page.has_more) output.next(`more: bridge history ${shellWord(peer)} --after ${page.next_sequence}`)
}

/** Reads a page of the conversation with the peer. It is empty if there is no conversation yet. */
export async function readHistory(
  context: CliContext,
  peer: string,
  options: HistoryOptions,
): Promise<MessagePage> {
  const { signal } = context
  const bridge = await context.bridge()
  const conversation = await bridge.directory.conversation(peer, { signal })
  return conversation === undefined ? nothing : read(bridge, conversation, options, signal)
}

const nothing: MessagePage = { messages: [], has_more: false, next_sequence: 0 }

/** Reads the messages after `after`, or the latest ones. */
async function read(
  bridge: Bridge,
  conversation: string,
  { after, limit }: HistoryOptions,
  signal: AbortSignal,
): Promise<MessagePage> {
  const afterSequence = after ?? (await latest(bridge, conversation, limit, signal))
  return bridge.conversations.history(conversation, { afterSequence, limit, signal })
}

async function latest(bridge: Bridge, conversation: string, limit: number, signal: AbortSignal) {
  const { last_sequence: last } = await bridge.conversations.get(conversation, { signal })
  return Math.max(0, last - limit)
}
