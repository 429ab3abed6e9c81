/**
 * Standard input, output and error. No other file uses them directly.
 *
 * Style of messages: lower case, no full stop, no exclamation mark. The texts of `invalid()` are sentences,
 * because commander appends them to a sentence of its own. An error begins with `bridge: `. A hint is one
 * line that begins with `hint: `. Without a terminal there is no colour, no prompt and no spinner.
 *
 * Contract §12.
 */
import type { Readable, Writable } from 'node:stream'
import { CommandError } from '../exit-codes.ts'

export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown }
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly rows?: number; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean }
}

export interface Io {
  /** Writes data to standard output. Calls `onWritten` when that succeeded. */
  out(text: string, onWritten?: () => void): void
  /** Like `out`. Resolves to true when the text is written, to false if standard output is closed. */
  handOver(text: string): Promise<boolean>
  /** Writes everything else to standard error. */
  err(text: string): void
  /**
   * Draws a line on the terminal of standard error over the line drawn before. Without a terminal, does
   * nothing. Every other write clears the drawn line first, so no result is written behind it.
   */
  draw(line: string): void
  /** Clears the drawn line. */
  undraw(): void
  /** Resolves when all output so far has been written, or can no longer be written. */
  drained(): Promise<void>
  /**
   * Code of the error that closed standard output, such as `EPIPE` if its reader closed it. Undefined while
   * it is open.
   */
  readonly closedBy: string | undefined
  readonly isTerminal: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean }
  /** The size of the terminal on standard output, as it is now. */
  rows(): number
  columns(): number
  /** Standard input as it arrives. */
  input(): AsyncIterable<Buffer | string>
  /** Ends {@link input} before its end. */
  closeInput(): void
  /** All of standard input as text. @throws CommandError when it is longer than `maxBytes` or not UTF-8. */
  readAll(maxBytes?: number): Promise<string>
  /** The first line of standard input, without its line end. A terminal shows `prompt` and echoes nothing. */
  readSecret(prompt: string): Promise<string>
  /**
   * Text pasted on the terminal, of any number of lines, without echo. It ends with the line end after which
   * `isWhole` holds and nothing more arrives for 300 ms, or with control-D. Lines that are not whole get one remark.
   */
  readPasted(prompt: string, whole: Omit<Paste, 'prompt'>): Promise<string>
}

/** Larger than any request body may be. */
const defaultMaxBytes = 1024 * 1024

/**
 * Creates the Io. `onClosed` is called once, with `closedBy` set, when standard output can no longer be
 * written.
 */
export function createIo(streams: Streams, onClosed: () => void = () => {}): Io {
  const { stdout } = streams
  let closedBy: string | undefined
  let stderr: Writable | undefined
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (closedBy !== undefined) return
    closedBy = error.code ?? error.message
    onClosed()
  })
  const toError = (text: string) => {
    // An error of standard error itself cannot be reported anywhere.
    stderr ??= streams.stderr.on('error', () => {})
    stderr.write(text)
  }
  let isDrawn = false
  const undraw = () => {
    if (isDrawn) toError('\r\u001b[K')
    isDrawn = false
  }
  const io: Io = {
    out: (text, onWritten) => {
      undraw()
      if (closedBy === undefined) stdout.write(text, (error) => (error ? undefined : onWritten?.()))
    },
    handOver: (text) =>
      new Promise((resolve) => {
        undraw()
        if (closedBy !== undefined) resolve(false)
        else stdout.write(text, (error) => resolve(error === undefined || error === null))
      }),
    err: (text) => {
      undraw()
      toError(text)
    },
    draw: (line) => {
      if (streams.stderr.isTTY !== true) return
      // A line wider than the terminal could not be overwritten. A terminal of unknown size reports 0
      // columns.
      toError(`\r${line.slice(0, (stdout.columns || 80) - 1)}\u001b[K`)
      isDrawn = true
    },
    undraw,
    drained: () =>
      new Promise((resolve) => (closedBy === undefined ? stdout.write('', () => resolve()) : resolve())),
    get closedBy() {
      return closedBy
    },
    // Standard input and error are opened when they are first used: a short command may need neither.
    isTerminal: {
      get stdin() {
        return streams.stdin.isTTY === true
      },
      stdout: stdout.isTTY === true,
      get stderr() {
        return streams.stderr.isTTY === true
      },
    },
    rows: () => stdout.rows ?? 24,
    columns: () => stdout.columns ?? 80,
    input: () => streams.stdin,
    closeInput: () => void streams.stdin.destroy(),
    readAll: (maxBytes = defaultMaxBytes) => readText(streams.stdin, maxBytes),
    readSecret: (prompt) =>
      streams.stdin.isTTY === true
        ? readUnechoed(streams.stdin, streams.stderr, prompt)
        : readLine(streams.stdin),
    readPasted: (prompt, whole) => readPaste(streams.stdin, streams.stderr, { prompt, ...whole }),
  }
  return io
}

async function readText(stdin: Readable, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Buffer | string)
    length += bytes.length
    if (length > maxBytes) throw new CommandError('usage', `standard input is longer than ${maxBytes} bytes`)
    chunks.push(bytes)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks))
  } catch (cause) {
    throw new CommandError('usage', 'standard input is not UTF-8 text', { cause })
  }
}

async function readLine(stdin: Readable): Promise<string> {
  const text = await readText(stdin, defaultMaxBytes)
  return text.split(/\r?\n/, 1)[0] ?? ''
}

const quietMs = 300

interface Paste {
  readonly prompt: string
  readonly isWhole: (text: string) => boolean
  /** Shown once if lines were pasted that are not whole. */
  readonly missing: string
}

const interrupted = (): CommandError => new CommandError('interrupted', 'interrupted')

const lastEvents = ['end', 'close'] as const

/**
 * Calls `leave` at the end of the keys: an abort has destroyed standard input, or the terminal is gone.
 * Returns a function that stops watching.
 */
function onLastKey(stdin: Readable, leave: () => void): () => void {
  for (const name of lastEvents) stdin.once(name, leave)
  return () => {
    for (const name of lastEvents) stdin.off(name, leave)
  }
}

/** Reads pasted lines in raw mode; see {@link Io.readPasted}. */
function readPaste(
  stdin: Streams['stdin'],
  stderr: Writable,
  { prompt, isWhole, missing }: Paste,
): Promise<string> {
  if (stdin.destroyed) return Promise.reject(interrupted())
  stdin.setRawMode?.(true)
  stderr.write(prompt)
  stdin.resume()
  return new Promise((resolve, reject) => {
    let text = ''
    let timer: NodeJS.Timeout | undefined
    let look: NodeJS.Immediate | undefined
    let isTold = false
    const stopTimer = () => {
      clearTimeout(timer)
      clearImmediate(look)
    }
    const end = (settle: () => void) => {
      stopTimer()
      stopWatching()
      stdin.off('data', onData)
      stdin.setRawMode?.(false)
      stdin.pause()
      stderr.write('\n')
      settle()
    }
    const endIfWhole = () => {
      if (!text.includes('\n')) return
      if (isWhole(text)) return end(() => resolve(text))
      if (!isTold) stderr.write(`\n${missing}`)
      isTold = true
    }
    const onData = (chunk: Buffer | string) => {
      stopTimer()
      for (const key of String(chunk)) {
        if (key === '\u0003') return end(() => reject(interrupted()))
        if (key === '\u0004') return end(() => resolve(text))
        text = key === '\u007f' || key === '\b' ? text.slice(0, -1) : text + (key === '\r' ? '\n' : key)
      }
      // After a process has stood still, timers come first, then the keys that arrived meanwhile.
      timer = setTimeout(() => (look = setImmediate(endIfWhole)), quietMs)
    }
    const stopWatching = onLastKey(stdin, () => end(() => reject(interrupted())))
    stdin.on('data', onData)
  })
}

/** Reads a line in raw mode: the terminal echoes nothing and delivers each key as it is typed. */
function readUnechoed(stdin: Streams['stdin'], stderr: Writable, prompt: string): Promise<string> {
  if (stdin.destroyed) return Promise.reject(interrupted())
  // Set raw mode before the prompt is shown, so that a fast answer is not echoed.
  stdin.setRawMode?.(true)
  stderr.write(prompt)
  stdin.resume()
  return new Promise((resolve, reject) => {
    let typed = ''
    const end = (settle: () => void, rest = '') => {
      stopWatching()
      stdin.off('data', onData)
      stdin.setRawMode?.(false)
      stdin.pause()
      // Text pasted after the line end answers the next prompt.
      if (rest !== '') stdin.unshift(rest)
      stderr.write('\n')
      settle()
    }
    const onData = (chunk: Buffer | string) => {
      const keys = [...String(chunk)]
      for (const [index, key] of keys.entries()) {
        const rest = () => keys.slice(index + 1).join('')
        if (key === '\r' || key === '\n' || key === '\u0004') return end(() => resolve(typed), rest())
        if (key === '\u0003') return end(() => reject(interrupted()))
        typed = key === '\u007f' || key === '\b' ? [...typed].slice(0, -1).join('') : typed + key
      }
    }
    const stopWatching = onLastKey(stdin, () => end(() => reject(interrupted())))
    stdin.on('data', onData)
  })
}
