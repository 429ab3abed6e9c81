/**
 * A client's log: each operation is written before it is sent and again after it returned, synced both times.
 *
 * A killed client reads it again and knows the keys whose outcome is open. A torn last line is dropped: an
 * operation that was not written completely was not sent.
 *
 * Reliability §3.2.
 */
import { closeSync, fdatasync, openSync, readFileSync, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Operation } from './history.ts'

const sync = promisify(fdatasync)

/** The fields known before the call. */
export type Invocation = Omit<Operation, 'invoked' | 'returned' | 'outcome' | 'code' | 'answer'>
export type Return = Pick<Operation, 'outcome' | 'code' | 'answer'>

type Line =
  | { readonly n: number; readonly invoked: number; readonly invocation: Invocation }
  | { readonly n: number; readonly returned: number; readonly result: Return }

/** Milliseconds of the machine's monotonic clock, which all processes share. */
export const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6

export class ClientLog {
  readonly #file: number
  #count: number

  constructor(path: string) {
    this.#count = readLog(path).length
    this.#file = openSync(path, 'a', 0o600)
    // The next line must not be appended to a torn one.
    if (this.#count > 0) writeSync(this.#file, '\n')
  }

  /** Runs a call between its two lines. */
  async record(invocation: Invocation, call: () => Promise<Return>): Promise<Operation> {
    const n = this.#count++
    const invoked = machineMs()
    await this.#write({ n, invoked, invocation })
    const result = await call()
    const returned = machineMs()
    await this.#write({ n, returned, result })
    return { ...invocation, ...result, invoked, returned }
  }

  async #write(line: Line): Promise<void> {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
    await sync(this.#file)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Returns the operations of a log; one that never returned is `info`. */
export function readLog(path: string): Operation[] {
  const operations: Operation[] = []
  for (const line of linesOf(path)) {
    if ('invocation' in line) operations[line.n] = { ...line.invocation, ...pending, invoked: line.invoked }
    const known = operations[line.n]
    if ('result' in line && known) operations[line.n] = { ...known, ...line.result, returned: line.returned }
  }
  return operations
}

const pending = { outcome: 'info', returned: Number.POSITIVE_INFINITY, code: null, answer: '' } as const

function linesOf(path: string): Line[] {
  try {
    return readFileSync(path, 'utf8').split('\n').flatMap(parseLine)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function parseLine(text: string): Line[] {
  try {
    return text === '' ? [] : [JSON.parse(text) as Line]
  } catch {
    // The line is torn: the client died while writing it, before it sent the request.
    return []
  }
}
