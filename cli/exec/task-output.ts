/**
 * Output of a task's command, split into progress reports and the result.
 *
 * - The result keeps the last 60 KiB, and less if that would be too long as JSON. If earlier bytes were dropped, its
 *   first line says how many. The hash covers all output.
 * - Progress is reported at most once per second. The latest report waits until that second has passed.
 */
import { createHash } from 'node:crypto'
import { startOf } from '../../sdk/plain-text.ts'

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
/** Half of a request's body. The rest is for the evidence. */
const keptJsonBytes = 128 * 1024
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
  #hasEnded = false

  constructor(options: TaskOutputOptions) {
    this.#options = options
  }

  add(bytes: Buffer, text: string): void {
    this.#hash.update(bytes)
    const lines = `${this.#line}${text}`.split('\n')
    this.#line = lines.pop() ?? ''
    for (const line of lines) this.#take(`${line}\n`)
    // An unfinished line beyond the limit goes to the result now, so that it is not buffered twice.
    if (this.#line.length > keptBytes) {
      this.#keep(this.#line)
      this.#line = ''
    }
    this.#reportPending()
  }

  /** Takes the last text and sends the pending progress report. */
  async end(rest: string): Promise<void> {
    if (this.#line + rest !== '') this.#take(this.#line + rest)
    this.#line = ''
    this.#hasEnded = true
    clearTimeout(this.#timer)
    await this.#reporting
    if (this.#pending !== undefined) await this.#options.report(this.#pending)
    this.#pending = undefined
  }

  /** Hash of everything that the command printed. */
  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  /** The kept output; empty if the command printed only progress. */
  get result(): string {
    const all = this.#kept.trim()
    const text = endInJson(all, keptJsonBytes)
    const leftOut = this.#leftOut + Buffer.byteLength(all) - Buffer.byteLength(text)
    return leftOut === 0 ? text : `[${leftOut} bytes before this were left out]\n${text}`
  }

  #take(line: string): void {
    this.#options.show(line)
    const progress = readProgress(line)
    if (progress === undefined) this.#keep(line)
    else this.#pending = progress
  }

  #keep(text: string): void {
    const all = Buffer.from(this.#kept + text)
    const excess = Math.max(0, all.length - keptBytes)
    this.#leftOut += excess
    this.#kept = excess === 0 ? this.#kept + text : fromWholeCharacter(all.subarray(excess))
  }

  #reportPending(): void {
    const { report, nowMs } = this.#options
    if (this.#hasEnded || this.#pending === undefined || this.#reporting !== undefined) return
    // If the system clock is changed meanwhile, this delays at most one report.
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

/** Drops leading bytes that belong to a character whose first byte was cut off. */
const fromWholeCharacter = (bytes: Buffer): string => {
  const start = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
  return bytes.subarray(Math.max(0, start)).toString('utf8')
}

/** Returns the end of a text that has at most `bytes` bytes as JSON, where a control character has six. */
function endInJson(text: string, bytes: number): string {
  let excess = jsonBytes(text) - bytes
  let start = 0
  for (const character of text) {
    if (excess <= 0) break
    excess -= jsonBytes(character)
    start += character.length
  }
  return text.slice(start)
}

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2

/** Parses a line such as `progress: 40% half of the files`. Percent or note may be missing, but not both. */
export function readProgress(line: string): Progress | undefined {
  const [, percent, rest = ''] = /^progress:\s*(?:(\d{1,3})\s*%)?\s*(.*)$/s.exec(line.trimEnd()) ?? []
  const isProgress = line.startsWith('progress:')
  const note = rest.trim()
  const share = percent === undefined ? undefined : Number(percent)
  if (!isProgress || (note === '' && share === undefined)) return undefined
  return {
    ...(note === '' ? {} : { note: Buffer.byteLength(note) > noteBytes ? `${startOf(note, 1000)} …` : note }),
    ...(share === undefined ? {} : { percent: Math.min(100, share) }),
  }
}
