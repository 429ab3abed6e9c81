/**
 * One node that speaks plain HTTP and one that speaks TLS, and connections to either that send exactly the
 * given bytes.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectPlain, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls, getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { SignedCall, TestAgent } from '../../support/agent.ts'
import { type BridgeOptions, startBridge, type TestBridge } from '../../support/bridge.ts'
import { issue } from '../../support/certificates.ts'
import { type RawReply, repliesIn, requestText } from '../refusals/raw-socket.ts'

export type Listener = 'http' | 'https'

export interface Listeners extends Readonly<Record<Listener, TestBridge>> {
  close(): Promise<void>
}

/** Starts one node of each kind. */
export async function startListeners(options: BridgeOptions = {}): Promise<Listeners> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-listeners-'))
  const [tls_cert, tls_key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const { cert, key } = await issue({ name: 'test server', hosts: ['127.0.0.1'] })
  writeFileSync(tls_cert, cert)
  writeFileSync(tls_key, key, { mode: 0o600 })
  const usualAuthorities = getCACertificates('default')
  setDefaultCACertificates([...usualAuthorities, cert])
  const http = await startBridge(options)
  const https = await startBridge({ ...options, settings: { ...options.settings, tls_cert, tls_key } })
  return {
    http,
    https,
    async close() {
      for (const line of lines) line.leave()
      await Promise.all([http.close(), https.close()])
      setDefaultCACertificates(usualAuthorities)
      rmSync(folder, { recursive: true })
    },
  }
}

/** The open connections. */
const lines = new Set<Line>()

/**
 * A connection whose client side stays open until the test closes it, at the latest together with its
 * listeners.
 */
export class Line {
  readonly socket: Socket
  /** Resolves when the server has closed its side and thus the connection. */
  readonly closed: Promise<void>
  #text = ''
  #isClosed = false
  #heard = () => {}

  constructor(url: string, localAddress = '127.0.0.1') {
    const { protocol, port } = new URL(url)
    const to = { port: Number(port), host: '127.0.0.1', localAddress, allowHalfOpen: true }
    this.socket = protocol === 'https:' ? connectTls(to) : connectPlain(to)
    lines.add(this)
    this.socket.once('close', () => lines.delete(this))
    this.socket.setEncoding('latin1').on('data', (chunk: string) => {
      this.#text += chunk
      this.#heard()
    })
    // If the server has closed the connection, it may answer data that is still in flight with a reset.
    this.socket.on('error', () => {})
    this.closed = new Promise((resolve) => {
      const end = () => {
        this.#isClosed = true
        this.#heard()
        resolve()
      }
      this.socket.once('end', end).once('close', end)
    })
  }

  get text(): string {
    return this.#text
  }

  /** Waits for this many complete answers and returns them. */
  async replies(count: number): Promise<RawReply[]> {
    while (!isWhole(this.#text, count)) await this.#more()
    return repliesIn(this.#text)
  }

  send(bytes: string): this {
    this.socket.write(bytes)
    return this
  }

  /** Closes the sending side; reading continues. */
  halfClose(): this {
    this.socket.end()
    return this
  }

  /** Resolves when the received text contains these words. */
  async until(words: string): Promise<void> {
    while (!this.#text.includes(words)) await this.#more()
  }

  async #more(): Promise<void> {
    if (this.#isClosed)
      throw new Error(`the server closed the connection after ${JSON.stringify(this.#text)}`)
    await new Promise<void>((resolve) => {
      this.#heard = resolve
    })
  }

  leave(): void {
    this.socket.destroy()
  }
}

/** Returns whether the text contains this many answers with complete bodies. */
function isWhole(text: string, count: number): boolean {
  let rest = text
  for (let found = 0; found < count; found += 1) {
    const head = rest.indexOf('\r\n\r\n') + 4
    const length = Number(/^content-length: (\d+)/im.exec(rest.slice(0, head))?.[1])
    if (head < 4 || !(rest.length - head >= length)) return false
    rest = rest.slice(head + length)
  }
  return true
}

/** Returns the text of a signed request; the connection stays open unless the call requests otherwise. */
export function signedText(agent: TestAgent, call: SignedCall): string {
  const body = call.body === undefined ? '' : JSON.stringify(call.body)
  const headers = [...agent.sign(call, body), ['Connection', 'keep-alive'] as const]
  const method = call.method ?? (call.body === undefined ? 'GET' : 'POST')
  return requestText({ method, target: call.target, headers, body })
}
