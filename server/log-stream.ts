/**
 * Standard error as the target of the log. The lines of one event loop turn are written together, because a
 * write costs more than the bytes in it.
 *
 * - Lines keep their order and are flushed when the process exits. A killed process loses the lines of its
 *   last turn.
 * - If writing fails (disk full, pipe closed), the service continues: these lines are lost and later ones are
 *   tried again.
 * - If the reader stops reading, at most 1 MiB is buffered. Further lines are dropped.
 */
import type { Writable } from 'node:stream'

export interface LogStream {
  write(line: string): void
}

/** Bytes that may be buffered for a slow reader before lines are dropped. */
const mostWaitingBytes = 1024 * 1024

export class GatheredLines implements LogStream {
  readonly #to: Writable
  #text = ''

  constructor(to: Writable) {
    this.#to = to
    to.on('error', () => {})
  }

  write(line: string): void {
    if (this.#text === '') setImmediate(() => this.flush())
    this.#text += line
  }

  flush(): void {
    const text = this.#text
    this.#text = ''
    if (text !== '' && this.#to.writableLength < mostWaitingBytes) this.#to.write(text)
  }
}

let lines: GatheredLines | undefined

/** Returns the one log stream of this process. */
export function standardError(): LogStream {
  if (lines === undefined) {
    const gathered = new GatheredLines(process.stderr)
    process.once('exit', () => gathered.flush())
    lines = gathered
  }
  return lines
}
