/** `bridge conversations`. */
import type { Conversation } from '../../sdk/index.ts'
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { otherSide } from '../messages/other-side.ts'

export function conversationsCommand(context: CliContext, run = conversations): Command {
  return command('conversations', 'bridge conversations')
    .description('List the conversations of this agent.')
    .action(() => run(context))
}

export async function conversations({ agent, output, signal }: CliContext): Promise<void> {
  const { bridge, profile } = await agent()
  const all: Conversation[] = []
  for await (const conversation of bridge.conversations.all({ signal })) all.push(conversation)
  const rows = all.map((conversation) => [
    otherSide(conversation, profile.identity.agent.id),
    String(conversation.last_sequence),
    conversation.id,
  ])
  const empty = 'no conversations yet; bridge send starts one'
  output.table({ conversations: all }, ['WITH', 'MESSAGES', 'ID'], rows, empty)
}
