/**
 * Size of a result: at most 16 KiB of JSON, which is the context that one call may cost.
 *
 * A longer text is cut between lines. A line that is too long is continued on lines that begin with `|+ ` in a
 * fenced body, so no part of a body can begin a line of its own.
 */
import type { Message } from '../../../sdk/index.ts'
import { messageText, type Reader } from '../../messages/message-text.ts'
import { wrong } from './arguments.ts'

export const resultBytes = 16 * 1024
/** For the text of a result and the note on the rest. The remainder is for the envelope. */
const room = resultBytes - 1024
/** For messages, which get one more note. */
const messagesRoom = room - 512
const noteRoom = 256
const lineCharacters = 2000

/** Bytes of the text within a JSON document. */
const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2

export interface PageOptions {
  /** The first line, counted from 1. */
  readonly from?: number
  /** Names the call that reads on at line `next`. */
  readonly again?: (next: number) => string
  readonly most?: number
}

/** Returns as many lines as fit, and a note on the rest. @throws CommandError if there is no line `from` */
export function page(text: string, { from = 1, again, most = room }: PageOptions = {}): string {
  const lines = text.split('\n').flatMap(wrapped)
  if (from > lines.length) throw wrong('line', `must be at most ${lines.length}, the length of this text`)
  let used = 0
  let end = from - 1
  for (let line = lines[end]; line !== undefined; line = lines[end]) {
    used += bytesOf(line) + 2
    if (used > most - noteRoom) break
    end += 1
  }
  const shown = lines.slice(from - 1, end).join('\n')
  if (from === 1 && end === lines.length) return shown
  const next = end < lines.length && again !== undefined ? `; ${again(end + 1)} reads on` : ''
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
    if (used > messagesRoom - noteRoom && shown.length === 0) {
      const again = (next: number) => `history with "message_id": "${message.id}", "line": ${next}`
      return { text: page(text, { again, most: messagesRoom }), count: 1 }
    }
    if (used > messagesRoom - noteRoom) break
    shown.push(text)
  }
  return { text: shown.join('\n\n'), count: shown.length }
}
