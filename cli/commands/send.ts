/** `bridge send`. */
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { sealedBody } from '../opened-bodies.ts'
import { inReplyTo, messageFields, type SendingOptions, tellSent, withSendingOptions } from '../sending.ts'
import { requireMessageBody } from '../text-argument.ts'

export interface SendOptions extends SendingOptions {
  readonly inReplyTo?: string
  readonly encrypt?: true
}

export function sendCommand(context: CliContext, run = send): Command {
  const build = command('send', 'bridge send ben "the build is green"')
    .description('Send a message to a peer or to the owner.')
    .argument('<peer>', 'name or id, or "owner"')
    .argument('[text]', 'the text; standard input when absent or -')
    .option(...inReplyTo)
    .option('--encrypt', 'seal the text to the key that the recipient registered')
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
  const content = options.encrypt === true ? await sealedBody(agent, peer, body, context.signal) : { body }
  const message = { ...messageFields(options, await bridge.now()), ...reply, ...content }
  const call = { idempotencyKey: options.key, signal: context.signal }
  await tellSent(context, await bridge.messages.sendTo(peer, message, call), options)
}
