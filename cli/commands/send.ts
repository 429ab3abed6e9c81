/** `bridge send`. */
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { peerOf, sealedBody } from '../messages/sealed-body.ts'
import {
  inReplyTo,
  messageFields,
  printSent,
  type SendingOptions,
  withSendingOptions,
} from '../messages/sending.ts'
import { requireMessageBody } from '../messages/text-argument.ts'
import { asFirstUse } from '../profile/first-use.ts'

export interface SendOptions extends SendingOptions {
  readonly inReplyTo?: string
}

export function sendCommand(context: CliContext, run = send): Command {
  const build = command('send', 'bridge send ben "the build is green"')
    .description('Send a message to a peer or to the owner.')
    .argument('<peer>', 'name or id, or "owner"')
    .argument('[text]', 'the text; standard input when absent or -')
    .option(...inReplyTo)
  return withSendingOptions(build, 'note').action(
    (peer: string, text: string | undefined, options: SendOptions) => run(context, peer, text, options),
  )
}

export async function send(
  context: CliContext,
  peer: string,
  text: string | undefined,
  options: SendOptions,
): Promise<void> {
  const body = await requireMessageBody(context.io, text)
  const reply = options.inReplyTo === undefined ? {} : { in_reply_to: options.inReplyTo }
  const agent = await context.agent()
  const { bridge } = agent
  const { signal } = context
  const { key } = options
  const sent = await asFirstUse(context, { of: 'send', key }, async (first) => {
    const content = options.encrypt
      ? await sealedBody(agent, await peerOf(agent, peer, signal), body, { signal, first })
      : { body }
    const message = { ...(await messageFields(options, () => bridge.now(), first)), ...reply, ...content }
    return bridge.messages.sendTo(peer, message, { idempotencyKey: key, signal })
  })
  await printSent(context, sent, options)
}
