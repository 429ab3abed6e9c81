/** `bridge reply`. */
import type { Message } from '../../sdk/index.ts'
import { type Command, command } from '../command.ts'
import type { Agent, CliContext } from '../context.ts'
import { id } from '../ids/parse.ts'
import { acknowledge } from '../messages/acknowledge.ts'
import { sealedBody } from '../messages/sealed-body.ts'
import { messageFields, printSent, type SendingOptions, withSendingOptions } from '../messages/sending.ts'
import { requireMessageBody } from '../messages/text-argument.ts'
import { asFirstUse, type First } from '../profile/first-use.ts'

export interface ReplyOptions extends SendingOptions {
  readonly ack?: true
}

export function replyCommand(context: CliContext, run = reply): Command {
  const build = command('reply', 'bridge reply 01980000-0000-7000-8000-000000000001 "yes, all green"')
    .description('Answer a message, in its conversation.')
    .argument('<message_id>', 'the message to answer', id)
    .argument('[text]', 'the text; standard input when absent or -')
    .option('--ack', 'acknowledge the message that this one answers, once the reply is stored')
  return withSendingOptions(build, 'answer').action(
    (messageId: string, text: string | undefined, options: ReplyOptions) =>
      run(context, messageId, text, options),
  )
}

export async function reply(
  context: CliContext,
  messageId: string,
  given: string | undefined,
  options: ReplyOptions,
): Promise<void> {
  const text = await requireMessageBody(context.io, given)
  const agent = await context.agent()
  const { signal } = context
  const original = await originalOf(agent, messageId, { isNeeded: options.encrypt === true, signal })
  const { key } = options
  const sent = await asFirstUse(context, { of: 'reply', key }, async (first) => {
    const content =
      options.encrypt && original
        ? await sealedReply(agent, original, text, { signal, first })
        : { body: text }
    const { bridge } = agent
    const message = { ...(await messageFields(options, () => bridge.now(), first)), ...content }
    const call = { idempotencyKey: key, signal }
    if (original === undefined) return bridge.messages.reply(messageId, message, call)
    const address = await addressOf(agent, original)
    return bridge.messages.send({ ...address, ...message, in_reply_to: messageId }, call)
  })
  try {
    await printSent(context, sent, options)
  } finally {
    // The reply is stored, also if nobody listens for it.
    if (options.ack) {
      // A script that saw a failure for now would send the reply again.
      const ifRefused = `${messageId} is not acknowledged, which bridge ack ${messageId} does`
      const isStored = await acknowledge(context, agent, [messageId], ifRefused)
      if (isStored) context.output.note(`acknowledged ${messageId}`)
    }
  }
}

/**
 * Returns the original from the journal of `listen`, without a request. If the journal lacks it, fetches it
 * from the node only if `isNeeded`: `--encrypt` has to find the other side's key.
 */
async function originalOf(
  { paths, bridge }: Agent,
  messageId: string,
  { isNeeded, signal }: { readonly isNeeded: boolean; readonly signal: AbortSignal },
): Promise<Message | undefined> {
  const { findRecorded } = await import('../../sdk/program.ts')
  const recorded = await findRecorded(paths.journal, messageId)
  return recorded ?? (isNeeded ? bridge.messages.get(messageId, { signal }) : undefined)
}

async function addressOf({ bridge }: Agent, original: Message) {
  const { replyAddress } = await import('../../sdk/program.ts')
  return replyAddress(original, bridge.identity.agentId)
}

async function sealedReply(
  agent: Agent,
  original: Message,
  text: string,
  sealing: { readonly signal: AbortSignal; readonly first: First },
) {
  const { sender } = original
  const whom = sender.agent_id === agent.bridge.identity.agentId ? 'the recipient' : sender.name
  const { conversation_id: conversationId } = await addressOf(agent, original)
  return sealedBody(agent, { whom, conversationId }, text, sealing)
}
