/**
 * Standard error, as the log is written to it: the lines of one turn of the event loop are one write, which costs more than
 * what it writes.
 *
 * - Lines keep their order, also at the end of the process, whatever ended it; a kill loses those of its last turn.
 * - A log that is full or gone does not stop the service: its lines are lost, and later ones are written again.
 * - Neither does a reader that has stopped to read: what waits for it is bounded.
 */
import type { Writable } from 'node:stream'

export interface LogStream {
  write(line: string): void
}

/** What may wait for a reader before lines are lost. */
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

/** One for the process, as standard error is. */
export function standardError(): LogStream {
  if (lines === undefined) {
    const gathered = new GatheredLines(process.stderr)
    process.once('exit', () => gathered.flush())
    lines = gathered
  }
  return lines
}
