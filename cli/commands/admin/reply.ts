/** `bridge admin reply`: answers a message to the owner, and acknowledges it. Contract §10. */
import { type Command, command, id, oneOf } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { idempotencyKey } from '../../messages/sending.ts'
import { requireMessageBody } from '../../messages/text-argument.ts'
import { asOwner, namingKey } from '../../owner/client.ts'
import { findUnacknowledged } from '../../owner/inbox.ts'

const types = ['answer', 'question', 'note'] as const

export interface OwnerReplyOptions {
  readonly type: (typeof types)[number]
  readonly key?: string
  readonly ack: boolean
}

export function replyCommand(context: CliContext, run = reply): Command {
  const example = `bridge admin reply $(bridge admin inbox --json | grep -o '"id":"[^"]*"' | cut -d '"' -f 4 | head -n 1) "yes, go ahead"`
  return command('reply', example)
    .description('Answer a message that an agent wrote to you, in its conversation, and acknowledge it.')
    .argument('<message_id>', 'as bridge admin inbox shows it', id)
    .argument('[text]', 'standard input when absent or -')
    .option('--type <type>', types.join(', '), oneOf(types), 'answer' as const)
    .option('--no-ack', 'do not acknowledge the message that this one answers')
    .option('--key <key>', 'idempotency key, to retry safely', idempotencyKey)
    .action((messageId: string, text: string | undefined, options: OwnerReplyOptions) =>
      run(context, messageId, text, options),
    )
}

export async function reply(
  context: CliContext,
  messageId: string,
  given: string | undefined,
  { type, key, ack }: OwnerReplyOptions,
): Promise<void> {
  const body = await requireMessageBody(context.io, given)
  const { output, signal } = context
  await asOwner(context, async (owner) => {
    const original = await findUnacknowledged(owner, messageId, context)
    if (original === undefined) {
      throw new CommandError('not_found', `no unacknowledged message to you has the id ${messageId}`, {
        hint: 'bridge admin inbox lists them; bridge admin message with --in-reply-to answers any other',
      })
    }
    const { conversation } = original
    const input = {
      recipient_agent_id: original.recipient_agent_id,
      conversation_id: conversation.id,
      in_reply_to: messageId,
      type,
      body,
    }
    const stored = await namingKey(context, key, (idempotencyKey) =>
      owner.messages.send(conversation.project_id, input, { idempotencyKey, signal }),
    )
    // The reply is stored, so it is printed even if the acknowledgement fails.
    await output.resultOrError(stored, `stored ${stored.id} as number ${stored.sequence}`)
    if (!ack) return
    await owner.messages.acknowledge(conversation.project_id, [messageId], { signal })
    output.note(`acknowledged ${messageId}`)
  })
}
