/** What `send`, `ask` and `reply` share: their options, and what they say of a stored message. */
import type { MessageSent } from '../../sdk/index.ts'
import { type Command, id, invalid, oneOf, seconds } from '../command.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { connectionWords } from '../terminal/words.ts'

/** As in the contract; the public index is loaded only by commands that run. */
const types = ['question', 'answer', 'note', 'result', 'status'] as const
export type AgentMessageType = (typeof types)[number]

export interface SendingOptions {
  readonly type: AgentMessageType
  readonly key?: string
  readonly expectsReplyBy?: ReplyBy
  readonly requireListening?: true
  readonly encrypt?: true
}

/** An instant, or seconds from now. */
export type ReplyBy = { readonly at: string } | { readonly seconds: number }

export const withSendingOptions = (to: Command, type: AgentMessageType): Command =>
  to
    .option('--type <type>', types.join(', '), oneOf(types), type)
    .option('--key <key>', 'idempotency key, to retry a send safely', idempotencyKey)
    .option('--expects-reply-by <when>', 'a duration like 30m, or a timestamp', replyBy)
    .option(
      '--require-listening',
      'exit 10 unless somebody listens for it or did 5 seconds ago; it is stored all the same',
    )
    .option('--encrypt', 'seal the text to the key that the recipient registered, or refuse')

export const inReplyTo = ['--in-reply-to <message_id>', 'the message that this one answers', id] as const

/** The fields of a message that the options decide. */
export function messageFields({ type, expectsReplyBy }: SendingOptions, now: Date) {
  if (expectsReplyBy === undefined) return { type }
  return { type, expects_reply_by: instantOf(expectsReplyBy, now) }
}

/** The instant that is meant, told now. */
export const instantOf = (by: ReplyBy, now: Date): string => ('at' in by ? by.at : after(now, by.seconds))

export const after = (now: Date, secondsLater: number): string =>
  new Date(now.getTime() + secondsLater * 1000).toISOString()

/** Says that a message is stored, and whether somebody listens for it. @throws as {@link requireListening} */
export async function tellSent(
  context: CliContext,
  sent: MessageSent,
  options: SendingOptions,
): Promise<void> {
  const { message, recipient } = sent
  const words = connectionWords(recipient.connection, await (await context.bridge()).now())
  const text = `stored ${message.id} as number ${message.sequence}\nrecipient: ${words}`
  await context.output.resultOrError(sent, text)
  requireListening(sent, options, `bridge status ${message.id} tells when it was offered and acknowledged`)
}

/**
 * "Listening now" is an open wait, or one that ended less than 5 seconds ago: between two polls somebody
 * listens.
 *
 * @throws CommandError where that was required.
 */
export function requireListening({ recipient }: MessageSent, options: SendingOptions, hint: string): void {
  if (options.requireListening !== true || recipient.connection.listening_now) return
  throw new CommandError('nobody_listening', 'stored, but nobody is listening for it', { hint })
}

export function idempotencyKey(text: string): string {
  if (/^[A-Za-z0-9_.:-]{8,128}$/.test(text)) return text
  throw invalid('It must be 8 to 128 letters, digits, and _ . : -')
}

/** A duration from now, or a timestamp. */
export function replyBy(text: string): ReplyBy {
  if (/^\d/.test(text) && !text.includes('T')) return { seconds: seconds(text) }
  const instant = new Date(text)
  if (Number.isNaN(instant.getTime()) || !/(Z|[+-]\d\d:\d\d)$/.test(text)) {
    throw invalid('It must be a duration like 30m, or a timestamp like 2026-01-31T12:00:00Z.')
  }
  return { at: instant.toISOString() }
}
