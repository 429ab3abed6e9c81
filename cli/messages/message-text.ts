/**
 * Formats a message for people: the sender that the node verified, then the body as data.
 *
 * No text of a message can begin a line. Each field stays within its line, and each line of the body follows
 * `| `.
 *
 * Contract §12.
 */
import type { Message } from '../../sdk/index.ts'
import { fenced, oneLine } from '../../sdk/plain-text.ts'
import { ago, relative } from '../terminal/words.ts'

export interface Reader {
  /** Name of the profile's project, to which all its messages belong. */
  readonly project: string
  readonly now: Date
  /** Sealed bodies after opening, by message id. */
  readonly opened?: ReadonlyMap<string, Opened>
}

/** The text, or the reason why the body cannot be opened. */
export type Opened = { readonly text: string } | { readonly problem: string }

export function messageText(message: Message, { project, now, opened }: Reader): string {
  const { id, sequence, conversation_id: conversation, in_reply_to: original } = message
  const lines = [
    `${message.type} from ${senderWords(message)}, project ${oneLine(project)}, ${ago(message.created_at, now)}`,
    `id ${id}, number ${sequence} in conversation ${conversation}`,
  ]
  if (original !== null) lines.push(`replies to ${original}`)
  if (message.task_id !== null) lines.push(`about task ${message.task_id}`)
  if (message.transfer_id !== null) lines.push(`about transfer ${message.transfer_id}`)
  if (message.expects_reply_by !== null) {
    lines.push(`reply expected by ${message.expects_reply_by}, ${relative(message.expects_reply_by, now)}`)
  }
  const body = opened?.get(id)
  if (message.encoding === 'age') lines.push(sealedWords(body))
  const text = body !== undefined && 'text' in body ? body.text : message.body
  return [...lines.map(oneLine), fenced(text)].join('\n')
}

function sealedWords(opened: Opened | undefined): string {
  if (opened === undefined) return 'the body is encrypted with age'
  if ('text' in opened) return 'the body was encrypted with age, and opened with the key of this profile'
  return `the body is encrypted with age: ${opened.problem}`
}

/** Kind and name of the sender. Both come from the node, so no sender can choose them. */
function senderWords({ sender }: Message): string {
  if (sender.kind === 'system') return 'the service'
  return `${sender.kind} ${oneLine(sender.name)} (verified)`
}
