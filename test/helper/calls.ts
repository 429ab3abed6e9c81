/** Requests to a helper byte by byte, and its answers. */
import { RawConnection } from '../support/raw-client.ts'

export interface HelperAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The code of a refusal, if the body is exactly that. */
  readonly error: string | undefined
  /** All received text, of any number of answers. */
  readonly text: string
}

/** Sends exactly these bytes on a new connection; returns its first answer, or the text up to its end. */
export function exchange(
  port: number,
  bytes: Buffer | string,
  { untilClosed = false }: { readonly untilClosed?: boolean } = {},
): Promise<HelperAnswer> {
  return readAnswer(new RawConnection(port).send(bytes), untilClosed)
}

export async function readAnswer(connection: RawConnection, untilClosed = false): Promise<HelperAnswer> {
  const replies = await connection
    .repliesOrEnd(untilClosed ? Number.POSITIVE_INFINITY : 1)
    .catch((error: NodeJS.ErrnoException) => {
      // A helper that has ended does not answer.
      if (error.code === 'ECONNREFUSED') return []
      throw error
    })
  const { text } = connection
  connection.leave()
  const {
    status = 0,
    headers = {},
    bytes: body = Buffer.alloc(0),
  } = replies.find(({ status }) => status >= 200) ?? {}
  return {
    status,
    headers,
    body,
    error: /^\{"error":"([a-z_]+)"\}$/.exec(body.toString('latin1'))?.[1],
    text,
  }
}

/** Status and code, to compare with what a test requires. */
export const refusal = ({ status, error }: HelperAnswer) => [status, error]

export interface HelperCall {
  readonly method?: string
  readonly target: string
  readonly token?: string
  readonly headers?: readonly string[]
  readonly body?: Buffer | undefined
}

/** The bytes of a well-formed request. */
export function request({ method = 'GET', target, token, headers = [], body }: HelperCall): Buffer {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : [`Content-Length: ${body.length}`]),
    ...headers,
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.alloc(0)])
}
