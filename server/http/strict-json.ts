/**
 * Strict JSON parser: nothing is dropped or changed silently.
 *
 * `JSON.parse` keeps the last of two equal keys, accepts decoded text in which bad UTF-8 was replaced, and
 * has no depth limit. No parser in wide use refuses all three, so a small scanner runs after it.
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

/** Parses a JSON body. @throws invalid_request with the problem */
export function parseStrictJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw refuse('is not valid UTF-8')
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // `JSON.parse` quotes the body in its message, which must not reach the log.
    throw refuse('is not valid JSON')
  }
  scan(text)
  return value
}

/** Scans the strings and structural characters of valid JSON text for repeated keys and deep nesting. */
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
      if (open.length > limits.jsonDepth) throw refuse(`is nested deeper than ${limits.jsonDepth} levels`)
      expectsKey = character === '{'
    } else if (character === '}' || character === ']') {
      open.pop()
      expectsKey = false
    } else if (character === ',') {
      expectsKey = open.at(-1) !== undefined
    }
  }
}

/**
 * Returns the index behind the closing quote, which is the first one preceded by an even number of
 * backslashes.
 */
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
  if (keys?.has(key)) throw refuse(`has the field ${JSON.stringify(key)} twice`)
  keys?.add(key)
}
