/** `bridge admin inbox`: lists the messages to the owner that nobody acknowledged. Contract §10. */
import type { OwnerInboxMessage } from '../../../sdk/index.ts'
import { type Command, command, wholeNumber } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { messageText } from '../../messages/message-text.ts'
import { asOwner } from '../../owner/client.ts'
import { projectNames } from '../../owner/inbox.ts'
import { findProject, type ProjectOption } from '../../owner/names.ts'

export interface OwnerInboxOptions extends ProjectOption {
  readonly limit: number
}

export function inboxCommand(context: CliContext, run = inbox): Command {
  return command('inbox', 'bridge admin inbox')
    .description(
      'Show the messages to you that nobody acknowledged, oldest first. Reading acknowledges none: bridge admin reply and bridge admin ack do that.',
    )
    .option('--project <project>', 'name or id of a project; all your projects if absent')
    .option('--limit <count>', 'how many at most', wholeNumber(1, 10_000), 100)
    .action((options: OwnerInboxOptions) => run(context, options))
}

export const inbox = (context: CliContext, { project, limit }: OwnerInboxOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const { output, signal } = context
    const of = project === undefined ? undefined : await findProject(owner, project, context)
    const messages: OwnerInboxMessage[] = []
    let hasMore = false
    for await (const message of owner.inbox.all({ projectId: of?.id, signal })) {
      hasMore = messages.length === limit
      if (hasMore) break
      messages.push(message)
    }
    const nameOf = await projectNames(owner, context)
    const now = context.clock()
    const textOf = (message: OwnerInboxMessage) =>
      messageText(message, { project: nameOf(message.conversation.project_id), now })
    const page = { messages, has_more: hasMore, next_after: messages.at(-1)?.id ?? null }
    if (output.json || messages.length > 0) output.result(page, messages.map(textOf).join('\n\n'))
    if (messages.length === 0) output.note('no unacknowledged messages to you')
    if (hasMore) output.note(`there are more than ${limit}; --limit shows more`)
  })
