/** `bridge reply`. */
import type { Agent } from '../agent.ts'
import { type Command, command, id } from '../command.ts'
import type { CliContext } from '../context.ts'
import { messageFields, type SendingOptions, tellSent, withSendingOptions } from '../sending.ts'
import { requireMessageBody } from '../text-argument.ts'

export function replyCommand(context: CliContext, run = reply): Command {
  const build = command('reply', 'bridge reply 01980000-0000-7000-8000-000000000001 "yes, all green"')
    .description('Answer a message, in its conversation.')
    .argument('<message_id>', 'the message to answer', id)
    .argument('[text]', 'the text; standard input when absent or -')
  return withSendingOptions(build, 'answer').action(
    (messageId: string, text: string | undefined, options: SendingOptions) =>
      run(context, messageId, text, options),
  )
}

export async function reply(
  context: CliContext,
  messageId: string,
  text: string | undefined,
  options: SendingOptions,
): Promise<void> {
  const body = await requireMessageBody(context.io, text)
  const agent = await context.agent()
  const message = { ...messageFields(options, await agent.bridge.now()), body }
  const call = { idempotencyKey: options.key, signal: context.signal }
  const address = await recordedAddress(agent, messageId)
  const { messages } = agent.bridge
  const sent =
    address === undefined
      ? await messages.reply(messageId, message, call)
      : await messages.send({ ...address, ...message, in_reply_to: messageId }, call)
  await tellSent(context, sent, options)
}

/** What `listen` recorded needs no question to the node. */
async function recordedAddress({ paths, bridge }: Agent, messageId: string) {
  const { findRecorded, replyAddress } = await import('../../sdk/index.ts')
  const original = await findRecorded(paths.journal, messageId)
  return original && replyAddress(original, bridge.identity.agentId)
}
