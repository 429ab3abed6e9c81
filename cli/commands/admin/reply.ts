/** `bridge admin reply`: answers a message to the owner, and acknowledges it. Contract §10. */
import type { Owner } from '../../../sdk/index.ts'
import { type Command, command, oneOf } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { failureWords } from '../../failures/failure-words.ts'
import { id } from '../../ids/parse.ts'
import { idempotencyKey } from '../../messages/sending.ts'
import { requireMessageBody } from '../../messages/text-argument.ts'
import { asOwner, namingKey } from '../../owner/client.ts'
import { findUnacknowledged } from '../../owner/inbox.ts'
import { asFirstUse } from '../../profile/first-use.ts'

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
    const { stored, projectId } = await asFirstUse(context, { of: 'admin reply', key }, async (first) => {
      // The first use acknowledges the message, and then the inbox has it no longer.
      const { projectId, ...address } = await first(messageId, () => addressOf(owner, messageId, context))
      const input = { ...address, in_reply_to: messageId, type, body }
      const stored = await namingKey(context, key, (idempotencyKey) =>
        owner.messages.send(projectId, input, { idempotencyKey, signal }),
      )
      return { stored, projectId }
    })
    // The reply is stored, so it is printed even if the acknowledgement fails.
    await output.resultOrError(stored, `stored ${stored.id} as number ${stored.sequence}`)
    if (!ack) return
    try {
      await owner.messages.acknowledge(projectId, [messageId], { signal })
    } catch (error) {
      const { isOutcomeUnknown, isTemporary } = await import('../../../sdk/program.ts')
      if (signal.aborted || !(isOutcomeUnknown(error) || isTemporary(error, 'reading'))) throw error
      // A script that saw a failure for now would send the reply again.
      const what = `${messageId} is not acknowledged, which bridge admin ack ${messageId} does`
      return output.note(`${what}: ${failureWords(error as Error)}`)
    }
    output.note(`acknowledged ${messageId}`)
  })
}

/** Where a reply to the message goes. @throws CommandError if the inbox does not have it. */
async function addressOf(owner: Owner, messageId: string, context: CliContext) {
  const original = await findUnacknowledged(owner, messageId, context)
  if (original !== undefined) {
    const { conversation, recipient_agent_id } = original
    return { projectId: conversation.project_id, conversation_id: conversation.id, recipient_agent_id }
  }
  throw new CommandError('not_found', `no unacknowledged message to you has the id ${messageId}`, {
    hint: 'bridge admin inbox lists them; bridge admin message with --in-reply-to answers any other',
  })
}
