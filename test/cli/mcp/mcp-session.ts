/** `bridge mcp` in this process, on streams that a test writes and reads line by line. */
import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { createContext } from '../../../cli/create-context.ts'
import { run } from '../../../cli/run.ts'
import type { Desk } from '../../support/desk.ts'

export interface Response {
  readonly jsonrpc: string
  readonly id?: string | number
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
  readonly method?: string
  readonly params?: object
}

/** Text of a tool's result. */
export interface Answer {
  readonly text: string
  readonly isError: boolean
  /** Bytes of the whole line. */
  readonly bytes: number
}

export const modern = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

interface SessionOptions {
  readonly files?: string
  readonly environment?: Readonly<Record<string, string>>
}

export class McpSession {
  /** Every line of standard output, parsed. */
  readonly lines: Response[] = []
  readonly stdin = new PassThrough()
  readonly interruption = new AbortController()
  readonly ended: Promise<number>
  readonly #bytes = new Map<Response, number>()
  readonly #waiting: (() => void)[] = []
  stderr = ''
  #last = 0

  constructor(desk: Desk, profile: string, { files = desk.folder, environment = {} }: SessionOptions = {}) {
    const stdout = new PassThrough()
    const stderr = new PassThrough()
    let rest = ''
    stdout.setEncoding('utf8').on('data', (text: string) => {
      const [last = '', ...whole] = `${rest}${text}`.split('\n').toReversed()
      rest = last
      for (const line of whole.toReversed()) this.#take(line)
    })
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    const context = createContext({
      streams: { stdin: this.stdin, stdout, stderr },
      environment: { BRIDGE_HOME: desk.home, ...environment },
      clock: () => new Date(),
      random: randomBytes,
      homeDirectory: desk.folder,
      interruption: this.interruption,
    })
    this.ended = run(['mcp', '--profile', profile, '--files', files], context)
  }

  #take(line: string): void {
    const response = JSON.parse(line) as Response
    this.lines.push(response)
    this.#bytes.set(response, Buffer.byteLength(line))
    for (const look of this.#waiting.splice(0)) look()
  }

  /** Writes one line. */
  write(message: object | string): void {
    this.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
  }

  /** Resolves to the first line that matches. */
  async line(matches: (line: Response) => boolean): Promise<Response> {
    for (;;) {
      const found = this.lines.find(matches)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** Sends a request of the modern revision, unless `params` has a `_meta`. */
  request(method: string, params: object = {}): Promise<Response> {
    this.#last += 1
    const id = `request-${this.#last}`
    this.write({ jsonrpc: '2.0', id, method, params: { _meta: modern, ...params } })
    return this.line((line) => line.id === id)
  }

  async call(name: string, given: object = {}): Promise<Answer> {
    const response = await this.request('tools/call', { name, arguments: given })
    const { content, isError } = response.result as {
      readonly content: readonly { readonly text: string }[]
      readonly isError?: boolean
    }
    const text = content.map((part) => part.text).join('')
    return { text, isError: isError === true, bytes: this.#bytes.get(response) ?? 0 }
  }

  /** Closes standard input; resolves to the exit code. */
  close(): Promise<number> {
    this.stdin.end()
    return this.ended
  }
}
