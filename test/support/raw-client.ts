/**
 * A client for raw bytes: it sends exactly the given bytes, adds nothing, and reads the answers.
 *
 * `exchange()` sends bytes on a new connection and reads until the server closes it. `RawConnection` is one
 * connection under the control of a test: it sends in pieces, closes its sending side, and waits for text or
 * answers. `requestText()` and `signedText()` compose requests.
 */
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { SignedCall, TestAgent } from './agent.ts'
import { type RawReply, repliesIn, wantedBytes } from './raw-replies.ts'

/** The port of a plain listener on 127.0.0.1, or the URL of a plain or TLS listener there. */
export type RawAddress = number | string

const open = new Set<RawConnection>()

/** Closes every connection that tests left open. */
export function leaveAll(): void {
  for (const each of open) each.leave()
}

/** A connection whose client side stays open until the test closes it. */
export class RawConnection {
  readonly socket: Socket
  /** Resolves when the server has closed its side, or the connection is broken. */
  readonly closed: Promise<void>
  #chunks: Buffer[] = []
  #received = 0
  #isClosed = false
  #error: NodeJS.ErrnoException | undefined
  #notify = () => {}

  constructor(address: RawAddress, localAddress = '127.0.0.1') {
    const { protocol, port } = new URL(typeof address === 'number' ? `http://127.0.0.1:${address}` : address)
    const to = { port: Number(port), host: '127.0.0.1', localAddress, allowHalfOpen: true }
    this.socket = protocol === 'https:' ? connectTls(to) : connectPlain(to)
    open.add(this)
    this.socket.once('close', () => open.delete(this))
    this.socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.#received += chunk.length
      this.#notify()
    })
    // A server that has refused a request may answer data that is still in flight with a reset.
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') this.#error = error
    })
    this.closed = new Promise((resolve) => {
      const end = () => {
        this.#isClosed = true
        this.#notify()
        resolve()
      }
      this.socket.once('end', end).once('close', end)
    })
  }

  /** All received bytes, one character per byte. */
  get text(): string {
    const all = Buffer.concat(this.#chunks)
    this.#chunks = [all]
    return all.toString('latin1')
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes)
    return this
  }

  /** Closes the sending side; reading continues. */
  halfClose(): this {
    this.socket.end()
    return this
  }

  /** Closes the connection; the server reads its end. */
  leave(): void {
    this.socket.destroy()
  }

  /** Resets the connection; the server reads a reset. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  /** Resolves when the received text contains these words. */
  async until(words: string): Promise<void> {
    if (!(await this.#until(() => this.text.includes(words)))) throw this.#tooEarly()
  }

  /** Resolves when the received text contains these words, or the server has closed its side. */
  async untilOrEnd(words: string): Promise<void> {
    await this.#until(() => this.text.includes(words))
  }

  /** Waits for this many complete answers and returns all; an interim answer (1xx) does not count. */
  async replies(count: number): Promise<RawReply[]> {
    if (!(await this.#untilAnswered(count))) throw this.#tooEarly()
    return repliesIn(this.text)
  }

  /** Waits for this many complete answers, or until the server has closed its side, and returns all. */
  async repliesOrEnd(count = Number.POSITIVE_INFINITY): Promise<RawReply[]> {
    await this.#untilAnswered(count)
    if (this.#error !== undefined) throw this.#error
    return repliesIn(this.text)
  }

  /** Resolves when the server has closed the whole connection, although this side could still send. */
  async released(): Promise<void> {
    await new Promise<void>((resolve) => {
      const probe = setInterval(() => this.socket.write('x'), 50)
      this.socket.once('close', () => {
        clearInterval(probe)
        resolve()
      })
    })
  }

  #untilAnswered(count: number): Promise<boolean> {
    let wanted = 0
    return this.#until(() => {
      if (this.#received >= wanted) wanted = wantedBytes(this.text, count)
      return this.#received >= wanted
    })
  }

  /** Resolves with false if the connection ended first. */
  async #until(isThere: () => boolean): Promise<boolean> {
    while (!isThere()) {
      if (this.#isClosed) return false
      await new Promise<void>((resolve) => {
        this.#notify = resolve
      })
    }
    return true
  }

  #tooEarly(): Error {
    return this.#error ?? new Error(`the server closed the connection after ${JSON.stringify(this.text)}`)
  }
}

const patienceMs = 60_000

export interface ExchangeOptions {
  /** Closes the sending side after the bytes. */
  readonly end?: boolean
  /** Stops reading once these words have arrived, instead of at the end of the connection. */
  readonly until?: string
}

/** Sends the bytes on a new connection; returns every answer until the server closed it. */
export async function exchange(
  address: RawAddress,
  bytes: string | Buffer,
  { end = false, until }: ExchangeOptions = {},
): Promise<RawReply[]> {
  const connection = new RawConnection(address).send(bytes)
  connection.socket.setTimeout(patienceMs, () =>
    connection.socket.destroy(new Error(`the server neither answered nor closed: ${connection.text}`)),
  )
  if (end) connection.halfClose()
  try {
    if (until !== undefined) await connection.untilOrEnd(until)
    return await connection.repliesOrEnd(until === undefined ? Number.POSITIVE_INFINITY : 0)
  } finally {
    connection.leave()
  }
}

/** Like {@link exchange}, for exactly one answer. */
export async function exchangeOne(...of: Parameters<typeof exchange>): Promise<RawReply> {
  const [reply] = await exchange(...of)
  if (reply === undefined) throw new Error('the server closed the connection without an answer')
  return reply
}

export interface RawRequest {
  readonly method?: string
  readonly target: string
  readonly version?: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string
}

/** The text of a request. Host, the body's length and `Connection: close` are added unless they are given. */
export function requestText({
  method = 'GET',
  target,
  version = 'HTTP/1.1',
  headers = [],
  body = '',
}: RawRequest): string {
  const given = new Set(headers.map(([name]) => name.toLowerCase()))
  const isFramed = given.has('content-length') || given.has('transfer-encoding') || body === ''
  const added: (readonly [string, string])[] = []
  if (!given.has('host')) added.push(['Host', 'bridge.test'])
  if (!given.has('connection')) added.push(['Connection', 'close'])
  if (!isFramed) added.push(['Content-Length', String(Buffer.byteLength(body))])
  const lines = [...added, ...headers].map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} ${version}\r\n${lines.join('')}\r\n${body}`
}

/** The text of a signed request, which a test can send any number of times. */
export function signedText(
  agent: TestAgent,
  call: SignedCall,
  connection: 'close' | 'keep-alive' = 'close',
): string {
  const body = call.body === undefined ? '' : JSON.stringify(call.body)
  const headers = [...agent.sign(call, body), ['Connection', connection] as const]
  const method = call.method ?? (call.body === undefined ? 'GET' : 'POST')
  return requestText({ method, target: call.target, headers, body })
}
