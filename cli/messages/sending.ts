/** Options and output that `send`, `ask` and `reply` share. */
import type { MessageSent } from '../../sdk/index.ts'
import { type Command, invalid, oneOf, seconds } from '../command.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { id } from '../ids/parse.ts'
import type { First } from '../profile/first-use.ts'
import { connectionWords } from '../terminal/words.ts'

/** Types of the contract, repeated here because only commands that run load the SDK. */
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
    .option('--expects-reply-by <when>', 'when a reply is due: a duration like 30m, or a timestamp', replyBy)
    .option(
      '--require-listening',
      'exit 10 if no one has listened in the last 5 seconds; the message is stored either way',
    )
    .option('--encrypt', "encrypt the text to the recipient's registered key; fail if there is none")

export const inReplyTo = ['--in-reply-to <message_id>', 'the message that this one answers', id] as const

/** Returns the message fields that the options set. */
export async function messageFields(
  { type, expectsReplyBy }: SendingOptions,
  now: () => Promise<Date>,
  first: First,
) {
  if (expectsReplyBy === undefined) return { type }
  return { type, expects_reply_by: await instantOf(expectsReplyBy, now, first) }
}

/** Returns the instant. A duration is counted from `now` at the first use of the key. */
export const instantOf = (
  by: ReplyBy,
  now: () => Promise<Date> | Date,
  first: First,
): Promise<string> | string =>
  'at' in by ? by.at : first(`after ${by.seconds}`, async () => after(await now(), by.seconds))

export const after = (now: Date, secondsLater: number): string =>
  new Date(now.getTime() + secondsLater * 1000).toISOString()

/**
 * Prints that a message is stored, and whether its recipient is listening. @throws as {@link
 * requireListening}
 */
export async function printSent(
  context: CliContext,
  sent: MessageSent,
  options: SendingOptions,
): Promise<void> {
  const { message, recipient } = sent
  const words = connectionWords(recipient.connection, await (await context.bridge()).now())
  const text = `stored ${message.id} as number ${message.sequence}\nrecipient: ${words}`
  await context.output.resultOrError(sent, text)
  requireListening(sent, options, `bridge status ${message.id} shows when it was offered and acknowledged`)
}

/**
 * Requires that the recipient is listening, if `--require-listening` was given. An open wait counts as
 * listening. So does one that ended less than 5 seconds ago, because a client may be between two polls.
 *
 * @throws CommandError when the recipient is not listening.
 */
export function requireListening({ recipient }: MessageSent, options: SendingOptions, hint: string): void {
  if (options.requireListening !== true || recipient.connection.listening_now) return
  throw new CommandError('nobody_listening', 'stored, but nobody is listening for it', { hint })
}

export function idempotencyKey(text: string): string {
  if (/^[A-Za-z0-9_.:-]{8,128}$/.test(text)) return text
  throw invalid('It must be 8 to 128 letters, digits, and _ . : -')
}

/** Parses a duration from now, or a timestamp. */
export function replyBy(text: string): ReplyBy {
  if (/^\d/.test(text) && !text.includes('T')) return { seconds: seconds(text) }
  const instant = new Date(text)
  if (Number.isNaN(instant.getTime()) || !/(Z|[+-]\d\d:\d\d)$/.test(text)) {
    throw invalid('It must be a duration like 30m, or a timestamp like 2026-01-31T12:00:00Z.')
  }
  return { at: instant.toISOString() }
}
