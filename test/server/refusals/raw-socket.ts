/**
 * Bytes on a socket, and what came back until the server closed it: what no HTTP client would send or show.
 */
import { connect } from 'node:net'

export interface RawReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface RawRequest {
  readonly method?: string
  readonly target: string
  readonly version?: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string
}

/**
 * The bytes of a request. Host, the body's length and `Connection: close` are added unless they are given.
 */
export function requestText({
  method = 'GET',
  target,
  version = 'HTTP/1.1',
  headers = [],
  body = '',
}: RawRequest) {
  const given = new Set(headers.map(([name]) => name.toLowerCase()))
  const framed = given.has('content-length') || given.has('transfer-encoding')
  const added: [string, string][] = [
    ...(given.has('host') ? [] : [['Host', 'bridge.test'] as [string, string]]),
    ...(given.has('connection') ? [] : [['Connection', 'close'] as [string, string]]),
    ...(framed || body === ''
      ? []
      : [['Content-Length', String(Buffer.byteLength(body))] as [string, string]]),
  ]
  const lines = [...added, ...headers].map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} ${version}\r\n${lines.join('')}\r\n${body}`
}

const patienceMs = 10_000

/** Writes the bytes, half-closes when `end`, and answers everything that came back. */
export function overSocket(
  url: string,
  bytes: string | Buffer,
  { end = false }: { readonly end?: boolean } = {},
): Promise<RawReply[]> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port) })
    socket.setTimeout(patienceMs, () => {
      socket.destroy(new Error(`the server neither answered nor closed: ${Buffer.concat(chunks)}`))
    })
    socket.on('data', (chunk) => chunks.push(chunk))
    // A server that has refused may reset what is still on its way.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.on('close', () => resolve(repliesIn(Buffer.concat(chunks).toString('utf8'))))
    if (end) socket.end(bytes)
    else socket.write(bytes)
  })
}

export function repliesIn(text: string): RawReply[] {
  const replies: RawReply[] = []
  let rest = text
  while (rest !== '') {
    const split = rest.indexOf('\r\n\r\n')
    if (split < 0) throw new Error(`no response: ${JSON.stringify(rest.slice(0, 200))}`)
    const [line = '', ...fields] = rest.slice(0, split).split('\r\n')
    const headers = Object.fromEntries(
      fields.map((field) => [
        field.split(':', 1)[0]?.toLowerCase() ?? '',
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    )
    const [body, left] = bodyOf(headers, rest.slice(split + 4))
    replies.push({ status: Number(line.split(' ')[1]), headers, body })
    rest = left
  }
  return replies
}

/** The body by its length or its one last chunk, and what follows it. */
function bodyOf(headers: Readonly<Record<string, string>>, text: string): [body: string, rest: string] {
  if (headers['transfer-encoding'] === 'chunked') {
    const end = text.indexOf('0\r\n\r\n') + 5
    return [text.slice(0, end - 5), text.slice(end)]
  }
  const length = Number(headers['content-length'] ?? 0)
  return [text.slice(0, length), text.slice(length)]
}
