/**
 * The client of the measurements: prebuilt signed requests as bytes, over connections that stay open. It
 * shares the machine with the measured server, so it does as little as possible. Product and floor use the
 * same client.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { SignedCall, TestAgent } from '../../support/agent.ts'

/** Returns the bytes of a signed request. */
export function requestBytes(agent: TestAgent, call: SignedCall): Buffer {
  const body = call.body === undefined ? '' : JSON.stringify(call.body)
  const lines = agent.sign(call, body).map(([name, value]) => `${name}: ${value}\r\n`)
  if (call.body !== undefined) lines.push(`Content-Length: ${Buffer.byteLength(body)}\r\n`)
  const method = call.body === undefined ? 'GET' : 'POST'
  return Buffer.from(`${method} ${call.target} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n${body}`)
}

/** Sends one request at a time; any answer but a 200 ends the measurement. */
export class Connection {
  readonly #socket: Socket
  #told: PromiseWithResolvers<string> | undefined
  #text = ''

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('data', (chunk: string) => this.#hear(chunk))
    socket.on('error', (error) => this.#told?.reject(error))
    socket.on('close', () => this.#told?.reject(new Error('the server closed the connection')))
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new Connection(socket)
  }

  /** Sends a request and returns the body of the answer. */
  ask(request: Buffer): Promise<string> {
    if (this.#told !== undefined) throw new Error('the connection is busy')
    this.#told = Promise.withResolvers()
    this.#socket.write(request)
    return this.#told.promise
  }

  close(): void {
    this.#told = undefined
    this.#socket.destroy()
  }

  #hear(chunk: string): void {
    this.#text += chunk
    const head = this.#text.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1])
    const body = this.#text.slice(head + 4)
    if (body.length < length) return
    const isOk = this.#text.startsWith('HTTP/1.1 200') && body.length === length
    const told = this.#told
    const answer = this.#text
    this.#text = ''
    this.#told = undefined
    if (isOk) told?.resolve(body)
    else told?.reject(new Error(`a request was answered with ${answer}`))
  }
}

export interface Driven {
  readonly perSecond: number
  readonly p99Ms: number
}

/** Sends all requests, this many in parallel, each on the first free connection. */
export async function drive(port: number, requests: readonly Buffer[], atOnce: number): Promise<Driven> {
  const connections = await Promise.all(Array.from({ length: atOnce }, () => Connection.open(port)))
  const took: number[] = []
  let next = 0
  const work = async (connection: Connection) => {
    for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
      const began = performance.now()
      await connection.ask(request)
      took.push(performance.now() - began)
    }
  }
  const began = performance.now()
  try {
    await Promise.all(connections.map(work))
    const seconds = (performance.now() - began) / 1000
    return { perSecond: requests.length / seconds, p99Ms: percentile(took, 0.99) }
  } finally {
    for (const connection of connections) connection.close()
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
