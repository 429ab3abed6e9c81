/** Bytes to a server and back over a plain socket. The request is sent unchanged. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { SignedCall, TestAgent } from './agent.ts'

export interface RawReply {
  readonly status: number
  /** The error code of a JSON refusal. */
  readonly error: string | undefined
  readonly text: string
}

/**
 * Sends the bytes and reads until the server closes; reads only the head of a stream. The request should
 * contain `Connection: close`.
 */
export async function sendRaw(port: number, bytes: Buffer): Promise<RawReply> {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    if (chunk.includes('text/event-stream')) socket.destroy()
  })
  socket.write(bytes)
  await once(socket, 'close')
  return parseReply(Buffer.concat(chunks).toString('utf8'))
}

function parseReply(text: string): RawReply {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
  const { error } = status >= 400 && body !== '' ? (JSON.parse(body) as { error?: string }) : {}
  return { status, error, text }
}

/** Returns the bytes of a signed request, which a test can send any number of times. */
export function rawRequest(agent: TestAgent, call: SignedCall): Buffer {
  const body = call.body === undefined ? '' : JSON.stringify(call.body)
  const method = call.method ?? (call.body === undefined ? 'GET' : 'POST')
  const headers: [string, string][] = [
    ['Host', 'bridge.example'],
    ['Connection', 'close'],
    ...agent.sign(call, body),
    ['Content-Length', String(Buffer.byteLength(body))],
  ]
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`${method} ${call.target} HTTP/1.1\r\n${lines}\r\n${body}`)
}
