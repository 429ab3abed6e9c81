/**
 * The system calls of a process, read from the file that `strace -f -y` writes: the beginning and the end of
 * each call, in order, of all threads.
 *
 * A call that is interrupted in the trace by another thread's call is on two lines, "unfinished" and
 * "resumed". A call that was running when strace detached has no end.
 */
import { closeSync, openSync, readSync } from 'node:fs'

export interface SystemCall {
  readonly thread: string
  readonly name: string
  readonly fd: string
  readonly path: string
}

export interface Moment {
  readonly at: 'began' | 'ended'
  readonly call: SystemCall
  /** The text after the file: the other arguments and, at the end, the result. */
  readonly text: string
}

const callLine = /^(\d+) +(\w+)\((?:(\d+)<([^>]*)>)?(.*)$/s
const resumedLine = /^(\d+) +<\.\.\. (\w+) resumed>(.*)$/s

export function* moments(lines: Iterable<string>): Generator<Moment> {
  const unfinished = new Map<string, Moment>()
  for (const line of lines) {
    const [, sameThread = '', , rest = ''] = resumedLine.exec(line) ?? []
    const begun = unfinished.get(sameThread)
    if (begun !== undefined) {
      unfinished.delete(sameThread)
      yield { at: 'ended', call: begun.call, text: begun.text.replace(' <unfinished ...>', '') + rest }
      continue
    }
    const [, thread = '', name = '', fd = '', path = '', text = ''] = callLine.exec(line) ?? []
    if (name === '') continue
    const began: Moment = { at: 'began', call: { thread, name, fd, path }, text }
    yield began
    if (text.endsWith('<unfinished ...>')) unfinished.set(thread, began)
    else if (!text.endsWith('<detached ...>')) yield { ...began, at: 'ended' }
  }
}

/** Yields the lines, one character per byte: a trace is longer than a string can be. */
export function* linesOf(path: string): Generator<string> {
  const file = openSync(path, 'r')
  const chunk = Buffer.alloc(1024 * 1024)
  let rest = ''
  try {
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      const lines = (rest + chunk.toString('latin1', 0, read)).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
    if (rest !== '') yield rest
  } finally {
    closeSync(file)
  }
}

/** Returns the result of a call; undefined while it is running. */
export function resultOf(text: string): number | undefined {
  const [, result] = /\) += (-?\d+)[^"]*$/.exec(text.slice(-200)) ?? []
  return result === undefined ? undefined : Number(result)
}

/** Returns the first quoted text as bytes. @throws if strace truncated it */
export function quotedBytes(text: string): Buffer {
  const from = text.indexOf('"') + 1
  const to = text.lastIndexOf('"')
  if (text.startsWith('"...', to)) throw new Error(`strace kept too little of ${text.slice(to - 40)}`)
  return bytesOf(text.slice(from, to))
}

/** Returns the bytes that strace quotes, one character each. */
export const unescaped = (quoted: string): string => bytesOf(quoted).toString('latin1')

const backslash = 92
const named: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, v: 11, f: 12 }

/** Parsed manually: pages are mostly escapes, and a regular expression takes ten times as long. */
function bytesOf(quoted: string): Buffer {
  const bytes = Buffer.allocUnsafe(quoted.length)
  let length = 0
  for (let at = 0; at < quoted.length; length += 1) {
    bytes[length] = quoted.charCodeAt(at)
    at += 1
    if (bytes[length] !== backslash) continue
    const after = at
    let byte = 0
    for (; at < after + 3 && isOctal(quoted.charCodeAt(at)); at += 1)
      byte = 8 * byte + quoted.charCodeAt(at) - zero
    bytes[length] = at > after ? byte : (named[quoted[at] ?? ''] ?? quoted.charCodeAt(at))
    if (at === after) at += 1
  }
  return bytes.subarray(0, length)
}

const zero = 48
const isOctal = (code: number): boolean => code >= zero && code < zero + 8
