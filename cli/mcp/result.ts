/**
 * Size of a result: at most 16 KiB of JSON, which is the context that one call may cost.
 *
 * A longer text is cut between lines. A line that is too long is continued on lines that begin with `|+ ` in a
 * fenced body, so no part of a body can begin a line of its own.
 */
import type { Message } from '../../sdk/index.ts'
import { messageText, type Reader } from '../messages/message-text.ts'
import { wrong } from './arguments.ts'

export const resultBytes = 16 * 1024
/** For the text itself. The rest is for the envelope and the note. */
const room = resultBytes - 1536
const lineCharacters = 2000

/** Bytes of the text within a JSON document. */
const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2

/**
 * Returns as many lines as fit, beginning with line `from`, and a note on the rest. `again` names the call that
 * reads on.
 *
 * @throws CommandError if there is no line `from`
 */
export function page(text: string, from: number, again: string): string {
  const lines = text.split('\n').flatMap(wrapped)
  if (from > lines.length) throw wrong('line', `must be at most ${lines.length}, the length of this text`)
  let used = 0
  let end = from - 1
  for (let line = lines[end]; line !== undefined; line = lines[end]) {
    used += bytesOf(line) + 2
    if (used > room) break
    end += 1
  }
  const shown = lines.slice(from - 1, end).join('\n')
  if (from === 1 && end === lines.length) return shown
  const next = end < lines.length ? `; ${again} with "line": ${end + 1} reads on` : ''
  return `${shown}\n[lines ${from} to ${end} of ${lines.length}${next}]`
}

function wrapped(line: string): string[] {
  if (line.length <= lineCharacters) return [line]
  const mark = line.startsWith('| ') ? '|+ ' : '   '
  const parts: string[] = []
  for (let rest = line; rest !== ''; ) {
    const end = endOfPart(rest)
    parts.push(`${parts.length === 0 ? '' : mark}${rest.slice(0, end)}`)
    rest = rest.slice(end)
  }
  return parts
}

/** Does not separate the halves of a surrogate pair. */
function endOfPart(text: string): number {
  const isBetweenHalves = /[\ud800-\udbff]/.test(text.charAt(lineCharacters - 1))
  return isBetweenHalves ? lineCharacters - 1 : lineCharacters
}

/**
 * Returns the text of the first messages that fit, and how many these are. If even the first is too long, its
 * beginning is returned.
 */
export function fitting(messages: readonly Message[], reader: Reader): { text: string; count: number } {
  const shown: string[] = []
  let used = 0
  for (const message of messages) {
    const text = messageText(message, reader)
    used += bytesOf(text) + 4
    if (used > room && shown.length === 0)
      return { text: page(text, 1, `history with "message_id": "${message.id}"`), count: 1 }
    if (used > room) break
    shown.push(text)
  }
  return { text: shown.join('\n\n'), count: shown.length }
}
