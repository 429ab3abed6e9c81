/** `bridge admin history`: prints a conversation without acknowledging anything. Contract §7. */
import type { MessagePage } from '../../../sdk/index.ts'
import { type Command, command, Option, wholeNumber } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { messageText, type Reader } from '../../messages/message-text.ts'
import { asOwner } from '../../owner/client.ts'
import { findConversation, findProject, type ProjectOption, withProject } from '../../owner/names.ts'
import { deliveryWords } from '../../terminal/words.ts'

export interface HistoryOptions extends ProjectOption {
  after?: number
  before?: number
}

export function historyCommand(context: CliContext, run = history): Command {
  const sequence = wholeNumber(0, Number.MAX_SAFE_INTEGER)
  const history = command('history', 'bridge admin history ada').description(
    'Show a conversation, by default its latest 100 messages. Nothing is acknowledged.',
  )
  history
    .argument(
      '<conversation>',
      'id of a conversation; name or id of an agent means your own conversation with it',
    )
    .option('--after <sequence>', 'the 100 messages after this number', sequence)
    .addOption(
      new Option('--before <sequence>', 'the 100 messages before this number')
        .argParser(sequence)
        .conflicts('after'),
    )
  return withProject(history).action((wanted: string, options: HistoryOptions) =>
    run(context, wanted, options),
  )
}

export const history = (context: CliContext, wanted: string, options: HistoryOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const { after: afterSequence, before: beforeSequence } = options
    const project = await findProject(owner, options.project, context)
    const { id } = await findConversation(owner, project, wanted, context)
    const place = { afterSequence, beforeSequence, signal: context.signal }
    const page = await owner.conversations.history(project.id, id, place)
    context.output.result(page, pageText(page, options, { project: project.name, now: context.clock() }))
  })

function pageText(page: MessagePage, { after }: HistoryOptions, reader: Reader): string {
  const removed = page.retention_gap?.removed_through_sequence
  const gap = removed === undefined ? [] : [`(removed by retention: up to number ${removed})`]
  const where = after === undefined ? `--before ${page.next_sequence}` : `--after ${page.next_sequence}`
  const more = page.has_more ? [`(more: ${where})`] : []
  const messages = page.messages.map(
    (each) => `${messageText(each, reader)}\n${deliveryWords(each, reader.now)}\n`,
  )
  return [...gap, ...messages, ...more].join('\n').trimEnd() || '(no messages)'
}
