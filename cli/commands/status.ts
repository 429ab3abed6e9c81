/** `bridge status`: how far one message got, or who owes whom an answer. */
import type { Bridge, Message } from '../../sdk/index.ts'
import { answers } from '../answers.ts'
import { type Command, command, id } from '../command.ts'
import type { CliContext } from '../context.ts'
import { oneLine } from '../plain-text.ts'
import { deliveryWords, relative } from '../words.ts'

export function statusCommand(context: CliContext, run = status): Command {
  return command('status', 'bridge status')
    .description(
      'How far a message got; without one, the questions that you owe an answer and those you wait for.',
    )
    .argument('[message_id]', 'a message that you sent or received', id)
    .action((messageId: string | undefined) => run(context, messageId))
}

export async function status(context: CliContext, messageId: string | undefined): Promise<void> {
  const { agent, output, clock, signal } = context
  const { bridge, profile } = await agent()
  const now = clock()
  if (messageId !== undefined) {
    const message = await bridge.messages.get(messageId, { signal })
    output.result(message, deliveryWords(message, now))
    return
  }
  const open = await openQuestions(bridge, profile.identity.agent.id, signal)
  const text = [
    ...section('you owe', open.you_owe, now),
    ...section('you wait for', open.you_wait_for, now),
  ].join('\n')
  output.result(open, text === '' ? 'no open questions in the latest messages' : text)
}

interface OpenQuestions {
  readonly you_owe: Message[]
  readonly you_wait_for: Message[]
}

const recent = 100

/** Of the latest messages of each conversation: those that ask for a reply and have none. */
async function openQuestions(bridge: Bridge, ownId: string, signal: AbortSignal): Promise<OpenQuestions> {
  const open: OpenQuestions = { you_owe: [], you_wait_for: [] }
  for await (const { id: conversation, last_sequence: last } of bridge.conversations.all({ signal })) {
    const options = { afterSequence: Math.max(0, last - recent), limit: recent, signal }
    const { messages } = await bridge.conversations.history(conversation, options)
    for (const question of unanswered(messages)) {
      const isOwn = question.sender.kind === 'agent' && question.sender.agent_id === ownId
      open[isOwn ? 'you_wait_for' : 'you_owe'].push(question)
    }
  }
  return open
}

export function unanswered(messages: readonly Message[]): Message[] {
  const asking = messages.filter(
    ({ type, expects_reply_by, sender }) =>
      sender.kind !== 'system' && (type === 'question' || expects_reply_by !== null),
  )
  return asking.filter((question) => !messages.some((message) => answers(message, question)))
}

function section(title: string, questions: readonly Message[], now: Date): string[] {
  if (questions.length === 0) return []
  return [`${title}:`, ...questions.map((question) => `  ${questionLine(question, now)}`)]
}

function questionLine(question: Message, now: Date): string {
  const { id: messageId, sender, body, created_at, expects_reply_by: by } = question
  const due = by === null ? '' : `, due ${relative(by, now)}`
  const text = oneLine(body)
  const short = text.length > 60 ? `${text.slice(0, 59)}…` : text
  return `${messageId} from ${oneLine(sender.name)}, ${relative(created_at, now)}${due} | ${short}`
}
