/** `bridge status`: shows the delivery of one message, or the open questions. */
import type { Bridge, Message } from '../../sdk/index.ts'
import { oneLine, startOf } from '../../sdk/plain-text.ts'
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { id } from '../ids/parse.ts'
import { otherSide } from '../messages/other-side.ts'
import { ago, deliveryWords, relative } from '../terminal/words.ts'

export function statusCommand(context: CliContext, run = status): Command {
  return command('status', 'bridge status')
    .description(
      'Show how far a message got. Without an id, list the questions that you have to answer and those you wait for.',
    )
    .argument('[message_id]', 'a message that you sent or received', id)
    .action((messageId: string | undefined) => run(context, messageId))
}

export async function status(context: CliContext, messageId: string | undefined): Promise<void> {
  const { agent, output, signal } = context
  const { bridge, profile } = await agent()
  if (messageId !== undefined) {
    const message = await bridge.messages.get(messageId, { signal })
    output.result(message, deliveryWords(message, await bridge.now()))
    return
  }
  const open = await openQuestions(bridge, profile.identity.agent.id, signal)
  const now = await bridge.now()
  const owed = open.filter(({ isOwn }) => !isOwn)
  const awaited = open.filter(({ isOwn }) => isOwn)
  const text = [...section('you owe', owed, now), ...section('you wait for', awaited, now)].join('\n')
  const messages = (of: readonly OpenQuestion[]) => of.map(({ question }) => question)
  const wire = { you_owe: messages(owed), you_wait_for: messages(awaited) }
  output.result(wire, text === '' ? 'no open questions in the latest messages' : text)
}

interface OpenQuestion {
  readonly question: Message
  readonly isOwn: boolean
  /** The name of the other side. */
  readonly other: string
}

const recent = 100

/** Finds questions without an answer among the latest 100 messages of each conversation. */
async function openQuestions(bridge: Bridge, ownId: string, signal: AbortSignal): Promise<OpenQuestion[]> {
  const { isAnswerTo } = await import('../../sdk/program.ts')
  const open: OpenQuestion[] = []
  for await (const conversation of bridge.conversations.all({ signal })) {
    const afterSequence = Math.max(0, conversation.last_sequence - recent)
    const options = { afterSequence, limit: recent, signal }
    const { messages } = await bridge.conversations.history(conversation.id, options)
    const other = otherSide(conversation, ownId)
    for (const question of unanswered(messages, isAnswerTo)) {
      const { kind, agent_id } = question.sender
      open.push({ question, other, isOwn: kind === 'agent' && agent_id === ownId })
    }
  }
  return open
}

type Answers = (message: Message, question: Message) => boolean

export function unanswered(messages: readonly Message[], answers: Answers): Message[] {
  const asking = messages.filter(
    ({ type, expects_reply_by, sender }) =>
      sender.kind !== 'system' && (type === 'question' || expects_reply_by !== null),
  )
  return asking.filter((question) => !messages.some((message) => answers(message, question)))
}

function section(title: string, questions: readonly OpenQuestion[], now: Date): string[] {
  if (questions.length === 0) return []
  return [`${title}:`, ...questions.map((question) => `  ${questionLine(question, now)}`)]
}

function questionLine({ question, isOwn, other }: OpenQuestion, now: Date): string {
  const { id: messageId, body, created_at, expects_reply_by: by } = question
  const due = by === null ? '' : `, due ${relative(by, now)}`
  const text = oneLine(body)
  const short = text.length > 60 ? `${startOf(text, 59)}…` : text
  const who = `${isOwn ? 'to' : 'from'} ${oneLine(other)}`
  return oneLine(`${messageId} ${who}, ${ago(created_at, now)}${due} | ${short}`)
}
