/**
 * A client for raw bytes: it sends exactly what a test says, adds nothing, and reads the answers.
 *
 * `exchange()` sends bytes on a connection of its own and reads until the server closes it. `RawConnection`
 * is one connection that a test holds: it sends in pieces, half-closes, and waits for words or answers.
 * `requestText()` and `signedText()` write requests.
 */
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { SignedCall, TestAgent } from './agent.ts'
import { type RawReply, repliesIn, wantedBytes } from './raw-replies.ts'

/** The port of a plain listener on 127.0.0.1, or the URL of a plain or TLS listener there. */
export type RawAddress = number | string

const open = new Set<RawConnection>()

/** Ends every connection that tests left open. */
export function leaveAll(): void {
  for (const each of open) each.leave()
}

/** A connection whose client's side stays open until the test ends it. */
export class RawConnection {
  readonly socket: Socket
  /** Resolves when the server has ended its side, or the connection is gone. */
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
    // A server that has refused a request may reset what is still on its way.
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

  /** Everything that came, a character for each byte. */
  get text(): string {
    const all = Buffer.concat(this.#chunks)
    this.#chunks = [all]
    return all.toString('latin1')
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes)
    return this
  }

  /** This side sends no more; it reads on. */
  halfClose(): this {
    this.socket.end()
    return this
  }

  /** Drops the connection; the server reads an end of it. */
  leave(): void {
    this.socket.destroy()
  }

  /** Drops the connection; the server reads a reset. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  /** Resolves when the text so far holds these words. */
  async until(words: string): Promise<void> {
    if (!(await this.#until(() => this.text.includes(words)))) throw this.#tooEarly()
  }

  /** The same, or when the server has ended its side. */
  async untilOrEnd(words: string): Promise<void> {
    await this.#until(() => this.text.includes(words))
  }

  /** All answers, once this many came whole; an interim one (1xx) does not count. */
  async replies(count: number): Promise<RawReply[]> {
    if (!(await this.#untilAnswered(count))) throw this.#tooEarly()
    return repliesIn(this.text)
  }

  /** All answers, once this many came whole or the server has ended its side. */
  async repliesOrEnd(count = Number.POSITIVE_INFINITY): Promise<RawReply[]> {
    await this.#untilAnswered(count)
    if (this.#error !== undefined) throw this.#error
    return repliesIn(this.text)
  }

  /** Resolves when the server has dropped the whole connection, although this side still sends. */
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

  /** False if the connection ended first. */
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

const patienceMs = 10_000

export interface ExchangeOptions {
  /** Half-closes behind the bytes. */
  readonly end?: boolean
  /** Stops reading when these words came, instead of at the end of the connection. */
  readonly until?: string
}

/** Sends the bytes on a connection of their own; every answer that came until the server closed it. */
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

/** The same with one answer. */
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

/** The text of a signed request, to be sent as often as a test likes. */
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
