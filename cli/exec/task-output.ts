/**
 * What a task's command prints: lines of progress, and the result.
 *
 * - The result is kept to its last 60 KiB; what was left out before is said in it, and the hash is of all of it.
 * - Progress is reported at most once a second. What is left unsaid by that is said when the second is over.
 */
import { createHash } from 'node:crypto'

export interface Progress {
  readonly note?: string | undefined
  readonly percent?: number | undefined
}

export interface TaskOutputOptions {
  readonly show: (text: string) => void
  readonly report: (progress: Progress) => Promise<void>
  readonly nowMs: () => number
}

const keptBytes = 60 * 1024
const noteBytes = 4 * 1024
const everyMs = 1000

export class TaskOutput {
  readonly #options: TaskOutputOptions
  readonly #hash = createHash('sha256')
  #line = ''
  #kept = ''
  #leftOut = 0
  #pending: Progress | undefined
  #reporting: Promise<void> | undefined
  #reportedMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(options: TaskOutputOptions) {
    this.#options = options
  }

  add(bytes: Buffer, text: string): void {
    this.#hash.update(bytes)
    const lines = `${this.#line}${text}`.split('\n')
    this.#line = lines.pop() ?? ''
    for (const line of lines) this.#take(`${line}\n`)
    // A line without an end is part of the result whatever its length, so it is not kept twice.
    if (this.#line.length > keptBytes) {
      this.#keep(this.#line)
      this.#line = ''
    }
    this.#reportPending()
  }

  /** The last word of progress is reported too. */
  async end(rest: string): Promise<void> {
    if (this.#line + rest !== '') this.#take(this.#line + rest)
    this.#line = ''
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#reporting
    if (this.#pending !== undefined) await this.#options.report(this.#pending)
    this.#pending = undefined
  }

  /** Of everything that was printed. */
  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  /** Empty when nothing was printed but progress. */
  get result(): string {
    const text = this.#kept.trim()
    return this.#leftOut === 0 ? text : `[${this.#leftOut} bytes before this were left out]\n${text}`
  }

  #take(line: string): void {
    this.#options.show(line)
    const progress = readProgress(line)
    if (progress === undefined) this.#keep(line)
    else this.#pending = progress
  }

  #keep(text: string): void {
    const all = Buffer.from(this.#kept + text)
    const over = Math.max(0, all.length - keptBytes)
    this.#leftOut += over
    this.#kept = over === 0 ? this.#kept + text : fromWholeCharacter(all.subarray(over))
  }

  #reportPending(): void {
    const { report, nowMs } = this.#options
    if (this.#isOver || this.#pending === undefined || this.#reporting !== undefined) return
    // A clock that is set delays one report at most.
    const leftMs = everyMs - Math.abs(nowMs() - this.#reportedMs)
    if (leftMs > 0) {
      this.#reportIn(leftMs)
      return
    }
    this.#reportedMs = nowMs()
    const progress = this.#pending
    this.#pending = undefined
    this.#reporting = report(progress).finally(() => {
      this.#reporting = undefined
      this.#reportPending()
    })
  }

  #reportIn(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#reportPending()
    }, ms)
  }
}

/** The first bytes may be the end of a character that was cut. */
const fromWholeCharacter = (bytes: Buffer): string => {
  const start = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
  return bytes.subarray(Math.max(0, start)).toString('utf8')
}

/** `progress: 40% half of the files`; percent, note, or both. */
export function readProgress(line: string): Progress | undefined {
  const [, percent, rest = ''] = /^progress:\s*(?:(\d{1,3})\s*%)?\s*(.*)$/s.exec(line.trimEnd()) ?? []
  const isProgress = line.startsWith('progress:')
  const note = rest.trim()
  const share = percent === undefined ? undefined : Number(percent)
  if (!isProgress || (note === '' && share === undefined)) return undefined
  return {
    ...(note === '' ? {} : { note: Buffer.byteLength(note) > noteBytes ? `${note.slice(0, 1000)} …` : note }),
    ...(share === undefined ? {} : { percent: Math.min(100, share) }),
  }
}
