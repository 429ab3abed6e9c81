/** `bridge ask`: a question, and the wait for the answer that is linked to it. */
import type { Message } from '../../sdk/index.ts'
import type { Agent } from '../agent.ts'
import { waitForAnswer } from '../answer-wait.ts'
import { type Command, command, id, oneOf, seconds } from '../command.ts'
import type { CliContext } from '../context.ts'
import { CommandFailure } from '../exit-codes.ts'
import { openJournal } from '../journal.ts'
import { messageText } from '../message-text.ts'
import { awaiting } from '../open-asks.ts'
import { readerOf } from '../opened-bodies.ts'
import { peerOf, sealedBody } from '../sealed-body.ts'
import {
  after,
  messageFields,
  requireListening,
  type SendingOptions,
  withSendingOptions,
} from '../sending.ts'
import { requireMessageBody } from '../text-argument.ts'
import { connectionWords, exactDuration } from '../words.ts'

export interface AskOptions extends SendingOptions {
  readonly timeout: number
  readonly resume?: string
  readonly ack: 'journal' | 'manual'
}

export function askCommand(context: CliContext, run = ask): Command {
  const build = command('ask', 'bridge ask ben "which branch is the release?" --timeout 15m')
    .description('Ask a peer or the owner, and wait for the answer.')
    .argument('[peer]', 'name or id, or "owner"; absent with --resume')
    .argument('[text]', 'the question; standard input when absent or -')
    .option('--timeout <duration>', 'how long to wait for the answer', seconds, 600)
    .option('--resume <message_id>', 'wait on for the answer to this question', id)
    .option(
      '--ack <when>',
      'acknowledge the answer once it is in the journal, or leave it',
      oneOf(['journal', 'manual']),
      'manual',
    )
  return withSendingOptions(build, 'question').action(
    (peer: string | undefined, text: string | undefined, options: AskOptions) =>
      run(context, peer, text, options),
  )
}

export async function ask(
  context: CliContext,
  peer: string | undefined,
  text: string | undefined,
  options: AskOptions,
): Promise<void> {
  if (options.resume !== undefined && peer !== undefined) {
    throw new CommandFailure('usage', '--resume takes up a question that was asked; leave peer and text out')
  }
  const agent = await context.agent()
  const deadline = context.clock().getTime() + options.timeout * 1000
  const question =
    options.resume === undefined
      ? await askNow(context, agent, { peer, text, options })
      : await agent.bridge.messages.get(options.resume, { signal: context.signal })
  const answer = await waited(context, question, () =>
    awaiting(agent.paths.asks, question.id, async () => {
      const found = await waitForAnswer(context, agent.bridge, question, deadline)
      if (found !== undefined) await tell(context, agent, found)
      return found
    }),
  )
  if (answer === undefined) {
    throw new CommandFailure(
      'nothing_came',
      `no answer to ${question.id} within ${exactDuration(options.timeout)}`,
      {
        hint: `bridge ask --resume ${question.id} waits on`,
      },
    )
  }
  if (options.ack === 'journal' && context.io.closedBy === undefined) {
    await agent.bridge.acknowledgements.create([answer.id], { signal: context.signal })
  }
}

/** Who breaks off a wait is told how to take it up again. */
async function waited<T>({ signal }: CliContext, question: Message, wait: () => Promise<T>): Promise<T> {
  try {
    return await wait()
  } catch (cause) {
    if (!signal.aborted) throw cause
    const hint = `bridge ask --resume ${question.id} waits on; the question stays asked`
    throw new CommandFailure('interrupted', 'interrupted', { hint, cause })
  }
}

interface Asked {
  readonly peer: string | undefined
  readonly text: string | undefined
  readonly options: AskOptions
}

async function askNow(context: CliContext, agent: Agent, { peer, text, options }: Asked): Promise<Message> {
  if (peer === undefined) throw new CommandFailure('usage', "missing required argument 'peer'")
  const { bridge } = agent
  const { signal } = context
  const body = await requireMessageBody(context.io, text)
  const content = options.encrypt
    ? await sealedBody(agent, await peerOf(agent, peer, signal), body, signal)
    : { body }
  const now = await bridge.now()
  // Who is asked sees that somebody waits, and until when.
  const waits = { expects_reply_by: after(now, options.timeout) }
  const call = { idempotencyKey: options.key, signal }
  const message = { ...waits, ...messageFields(options, now), ...content }
  const sent = await bridge.messages.sendTo(peer, message, call)
  const { message: question, recipient } = sent
  const words = connectionWords(recipient.connection, now)
  context.output.note(`asked as ${question.id}, number ${question.sequence}; recipient: ${words}`)
  requireListening(sent, options, `bridge ask --resume ${question.id} waits for the answer all the same`)
  return question
}

/**
 * Recorded, printed, and noted as printed and done, so that a `listen` of the profile neither shows it again nor runs its
 * command for it.
 */
async function tell(context: CliContext, agent: Agent, answer: Message): Promise<void> {
  const journal = await openJournal(context, agent)
  try {
    if (!journal.has(answer.id)) await journal.record([answer])
    const reader = await readerOf(agent, [answer])
    if (!(await context.output.handOver(answer, messageText(answer, reader)))) return
    await journal.recordPrinted([answer.id])
    await journal.recordDone([answer.id])
  } finally {
    await journal.close()
  }
}
