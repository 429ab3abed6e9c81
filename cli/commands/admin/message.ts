/** `bridge admin message`: sends a message as the owner. Contract §7. */
import type { OwnerMessageInput } from '../../../sdk/index.ts'
import { type Command, command, oneOf, seconds } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { id } from '../../ids/parse.ts'
import { idempotencyKey, instantOf } from '../../messages/sending.ts'
import { messageBody } from '../../messages/text-argument.ts'
import { asOwner, namingKey } from '../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../owner/names.ts'
import { asFirstUse, type First } from '../../profile/first-use.ts'

const types = ['question', 'answer', 'note'] as const

export interface OwnerMessageOptions extends ProjectOption {
  type: (typeof types)[number]
  conversation?: string
  inReplyTo?: string
  replyWithin?: number
  key?: string
}

export function messageCommand(context: CliContext, run = message): Command {
  const message = command('message', 'bridge admin message ada "how far are you?" --type question')
    .description('Send a message as the owner, by default in your own conversation with the agent.')
    .argument('<agent>', 'name or id')
    .argument('[text]', 'standard input when absent or -')
    .option('--type <type>', types.join(', '), oneOf(types), 'note' as const)
    .option('--conversation <conversation_id>', 'another conversation of the agent', id)
    .option('--in-reply-to <message_id>', 'the message that this one answers', id)
    .option('--reply-within <duration>', 'how soon an answer is expected', seconds)
    .option('--key <key>', 'idempotency key, to retry safely', idempotencyKey)
  return withProject(message).action(
    (agent: string, text: string | undefined, options: OwnerMessageOptions) =>
      run(context, agent, text, options),
  )
}

export async function message(
  context: CliContext,
  agent: string,
  text: string | undefined,
  options: OwnerMessageOptions,
): Promise<void> {
  const body = await messageBody(context.io, text)
  await asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, agent, context)
    const stored = await namingKey(context, options.key, (key) =>
      asFirstUse(context, { of: 'admin message', key }, async (first) => {
        const fields = await fieldsOf(options, context.clock, first)
        const input = { recipient_agent_id: agentId, body, ...fields }
        return owner.messages.send(project.id, input, { idempotencyKey: key, signal: context.signal })
      }),
    )
    context.output.result(stored, `stored ${stored.id} as number ${stored.sequence}`)
  })
}

async function fieldsOf(
  { type, conversation, inReplyTo, replyWithin }: OwnerMessageOptions,
  now: () => Date,
  first: First,
): Promise<Omit<OwnerMessageInput, 'recipient_agent_id' | 'body'>> {
  return {
    type,
    ...(conversation === undefined ? {} : { conversation_id: conversation }),
    ...(inReplyTo === undefined ? {} : { in_reply_to: inReplyTo }),
    ...(replyWithin === undefined
      ? {}
      : { expects_reply_by: await instantOf({ seconds: replyWithin }, now, first) }),
  }
}
