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
import { Fault } from '../fault.ts'

const refuse = (problem: string) =>
  new Fault('invalid_request', {
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

/** One string token, or one structural character; numbers and literals cannot hold either. */
const token = /"(?:[^"\\]|\\.)*"|[{}[\],]/g

/** Walks the tokens of a text that is known to be JSON. */
function scan(text: string): void {
  const open: (Set<string> | undefined)[] = []
  let expectsKey = false
  for (const [part] of text.matchAll(token)) {
    if (part === '{' || part === '[') {
      open.push(part === '{' ? new Set() : undefined)
      if (open.length > limits.jsonDepth) throw refuse(`is nested deeper than ${limits.jsonDepth}`)
      expectsKey = part === '{'
    } else if (part === '}' || part === ']') {
      open.pop()
      expectsKey = false
    } else if (part === ',') {
      expectsKey = open.at(-1) !== undefined
    } else if (expectsKey) {
      addKey(open.at(-1), part)
      expectsKey = false
    }
  }
}

function addKey(keys: Set<string> | undefined, quoted: string): void {
  const key = JSON.parse(quoted) as string
  if (keys?.has(key)) throw refuse(`names the field ${JSON.stringify(key)} twice`)
  keys?.add(key)
}
