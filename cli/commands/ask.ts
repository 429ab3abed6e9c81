/** `bridge ask`: sends a question and waits for the answer that is linked to it. */
import type { Message } from '../../sdk/index.ts'
import { holdAnswer } from '../../sdk/storage/open-asks.ts'
import { type Command, command, oneOf, seconds } from '../command.ts'
import type { Agent, CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { failureWords } from '../failures/failure-words.ts'
import { id } from '../ids/parse.ts'
import { acknowledge } from '../messages/acknowledge.ts'
import { messageText } from '../messages/message-text.ts'
import { readerOf } from '../messages/opened-bodies.ts'
import { peerOf, sealedBody } from '../messages/sealed-body.ts'
import {
  after,
  messageFields,
  requireListening,
  type SendingOptions,
  withSendingOptions,
} from '../messages/sending.ts'
import { requireMessageBody } from '../messages/text-argument.ts'
import { asFirstUse } from '../profile/first-use.ts'
import { openJournal } from '../profile/journal.ts'
import { connectionWords, exactDuration } from '../terminal/words.ts'

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
    .option('--resume <message_id>', 'keep waiting for the answer to this earlier question', id)
    .option(
      '--ack <when>',
      'journal (acknowledge the answer once it is in the journal) or manual (leave that to bridge ack)',
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
    throw new CommandError(
      'usage',
      '--resume waits for the answer to an earlier question; omit peer and text',
    )
  }
  const agent = await context.agent()
  const deadline = context.clock().getTime() + options.timeout * 1000
  const question =
    options.resume === undefined
      ? await askNow(context, agent, { peer, text, options })
      : await agent.bridge.messages.get(options.resume, { signal: context.signal })
  const answer = await reserved(agent, question, async () => {
    const found = await waitForAnswer(context, agent, { question, deadline, options })
    await printAnswer(context, agent, found)
    return found
  })
  if (options.ack === 'journal' && context.io.closedBy === undefined) {
    // The answer is printed, so a refusal for now is no failure: a script would drop the answer.
    const ifRefused = `the answer is not acknowledged, which bridge ack ${answer.id} does`
    await acknowledge(context, agent, [answer.id], ifRefused)
  }
}

/** Reserves the answer while `wait` runs, so that a `listen` of this profile does not print it. */
async function reserved<T>({ paths }: Agent, { id }: Message, wait: () => Promise<T>): Promise<T> {
  const { makePrivateFolder } = await import('../../sdk/program.ts')
  await makePrivateFolder(paths.asks)
  const release = await holdAnswer(paths.asks, id)
  try {
    return await wait()
  } finally {
    await release()
  }
}

interface Awaited {
  readonly question: Message
  readonly deadline: number
  readonly options: AskOptions
}

/** Waits for the answer. After a timeout or an interruption, a hint names the command that resumes. */
async function waitForAnswer(
  { clock, signal, output }: CliContext,
  { bridge }: Agent,
  { question, deadline, options }: Awaited,
): Promise<Message> {
  const timeout = Math.max(0, deadline - clock().getTime())
  const onConnection = (lost: Error | undefined) =>
    output.note(
      lost === undefined
        ? 'the node is reachable again'
        : `the node is unreachable, waiting: ${failureWords(lost)}`,
    )
  const hint = `bridge ask --resume ${question.id} keeps waiting`
  try {
    return await bridge.answerTo(question, { timeout, signal, acknowledge: false, onConnection })
  } catch (cause) {
    const { NoAnswer } = await import('../../sdk/index.ts')
    if (cause instanceof NoAnswer) {
      const message = `no answer to ${question.id} within ${exactDuration(options.timeout)}`
      throw new CommandError('nothing_came', message, { hint })
    }
    if (!signal.aborted) throw cause
    throw new CommandError('interrupted', 'interrupted', {
      hint: `${hint}; the question stays open`,
      cause,
    })
  }
}

interface Asked {
  readonly peer: string | undefined
  readonly text: string | undefined
  readonly options: AskOptions
}

async function askNow(context: CliContext, agent: Agent, { peer, text, options }: Asked): Promise<Message> {
  if (peer === undefined) throw new CommandError('usage', "missing required argument 'peer'")
  const { bridge } = agent
  const { signal } = context
  const body = await requireMessageBody(context.io, text)
  const now = await bridge.now()
  const { key } = options
  const sent = await asFirstUse(context, { of: 'ask', key }, async (first) => {
    const content = options.encrypt
      ? await sealedBody(agent, await peerOf(agent, peer, signal), body, { signal, first })
      : { body }
    // The recipient sees until when this command waits. A retry may wait for another time, so with --key the field
    // is left out.
    const waits = key === undefined ? { expects_reply_by: after(now, options.timeout) } : {}
    const message = { ...waits, ...(await messageFields(options, async () => now, first)), ...content }
    return bridge.messages.sendTo(peer, message, { idempotencyKey: key, signal })
  })
  const { message: question, recipient } = sent
  const words = connectionWords(recipient.connection, now)
  context.output.saw(question)
  context.output.note(`asked as ${question.id}, number ${question.sequence}; recipient: ${words}`)
  requireListening(sent, options, `bridge ask --resume ${question.id} waits for the answer anyway`)
  return question
}

/**
 * Records and prints the answer, and notes it as printed and done. A `listen` of this profile then neither
 * prints it nor runs its command for it.
 */
async function printAnswer(context: CliContext, agent: Agent, answer: Message): Promise<void> {
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
