/**
 * JSON as the contract means it: nothing is dropped or changed in silence.
 *
 * `JSON.parse` keeps the last of two equal keys, replaces bad UTF-8 when it is given a decoded string, and nests
 * without bound. No parser in wide use refuses all three, so a small scanner runs beside it.
 *
 * Contract §1: "Nothing is coerced, dropped or truncated in silence."
 */
import { isUtf8 } from 'node:buffer'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'

const refuse = (problem: string) =>
  new ApiError('invalid_request', {
    message: `body: ${problem}`,
    details: { faults: [{ path: 'body', problem }] },
  })

/** @throws invalid_request naming what is wrong with the text. */
export function parseStrictJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw refuse('is not UTF-8')
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The engine's message quotes the body; ours does not.
    throw refuse('is not JSON')
  }
  scan(text)
  return value
}

/** Walks the strings and the structural characters of a text that is known to be JSON. */
function scan(text: string): void {
  const open: (Set<string> | undefined)[] = []
  let expectsKey = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '"') {
      const end = endOfString(text, at)
      if (expectsKey) addKey(open.at(-1), text.slice(at, end))
      expectsKey = false
      at = end - 1
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : undefined)
      if (open.length > limits.jsonDepth) throw refuse(`is nested deeper than ${limits.jsonDepth}`)
      expectsKey = character === '{'
    } else if (character === '}' || character === ']') {
      open.pop()
      expectsKey = false
    } else if (character === ',') {
      expectsKey = open.at(-1) !== undefined
    }
  }
}

/** Behind the quote that closes it: the first that has not an odd number of backslashes before it. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end + 1
}

function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text[first - 1] === '\\') first -= 1
  return (at - first) % 2 === 1
}

function addKey(keys: Set<string> | undefined, quoted: string): void {
  const key = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
  if (keys?.has(key)) throw refuse(`names the field ${JSON.stringify(key)} twice`)
  keys?.add(key)
}
