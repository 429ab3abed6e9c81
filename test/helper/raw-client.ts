/** Requests to a helper byte by byte, over a socket of their own. */
import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The code of a refusal, when the body is exactly that. */
  readonly error: string | undefined
  /** Everything that came, of however many answers. */
  readonly text: string
}

/** Sends exactly these bytes and reads until the helper closes, or `until` is satisfied. */
export async function exchange(
  port: number,
  bytes: Buffer | string,
  until: (received: Buffer) => boolean = isWhole,
): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  return readAnswer(socket, until)
}

export async function readAnswer(socket: Socket, until = isWhole): Promise<RawAnswer> {
  const chunks: Buffer[] = []
  let received = 0
  let wanted = 0
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    received += chunk.length
    if (received < wanted) return
    const all = Buffer.concat(chunks)
    if (until(all)) socket.destroy()
    else wanted = promised(all) ?? 0
  })
  // Not once(): a reset is an end like any other.
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
  return parse(Buffer.concat(chunks))
}

/** One answer with as many bytes as it promised. */
export const isWhole = (received: Buffer): boolean =>
  received.length >= (promised(received) ?? Number.POSITIVE_INFINITY)

/** How long the first answer is, once its head is there. */
function promised(received: Buffer): number | undefined {
  const end = received.indexOf('\r\n\r\n') + 4
  if (end < 4) return undefined
  const head = received.subarray(0, end).toString('latin1')
  if (/^HTTP\/1\.1 100/.test(head))
    return end + (promised(received.subarray(end)) ?? Number.POSITIVE_INFINITY)
  return end + Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? Number.NaN)
}

function parse(received: Buffer): RawAnswer {
  const start = /^HTTP\/1\.1 100[^\n]*\n\r\n/.exec(received.toString('latin1'))?.[0].length ?? 0
  const answer = received.subarray(start)
  const end = answer.indexOf('\r\n\r\n')
  const head = (end < 0 ? answer : answer.subarray(0, end)).toString('latin1')
  const body = end < 0 ? Buffer.alloc(0) : answer.subarray(end + 4)
  const [first = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line) => [
    line.split(':', 1)[0]?.toLowerCase() ?? '',
    line.replace(/^[^:]*: ?/, ''),
  ])
  const error = /^\{"error":"([a-z_]+)"\}$/.exec(body.toString('latin1'))?.[1]
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0),
    headers: Object.fromEntries(headers),
    body,
    error,
    text: received.toString('latin1'),
  }
}

export interface RawCall {
  readonly method?: string
  readonly target: string
  readonly token?: string
  readonly headers?: readonly string[]
  readonly body?: Buffer | undefined
}

/** The bytes of a well-formed request. */
export function request({ method = 'GET', target, token, headers = [], body }: RawCall): Buffer {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : [`Content-Length: ${body.length}`]),
    ...headers,
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.alloc(0)])
}
