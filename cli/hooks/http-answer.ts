/**
 * A response of HTTP/1.1 on a connection that ends with it (RFC 9112, section 6.3).
 *
 * An interim response (1xx) counts as no HTTP, because no request of a hook asks for one.
 */
import type { FetchResponse } from '../../sdk/index.ts'

interface Head {
  readonly status: number
  readonly fields: ReadonlyMap<string, string>
  /** Offset of the body. */
  readonly end: number
}

const longestHead = 65_536
const statusLine = /^HTTP\/1\.[01] ([2-5]\d\d)(?: |$)/

/**
 * Returns the length of the response that begins with these bytes: infinite if only the end of the connection shows
 * it, undefined until the head is complete. @throws Error with a code, if this is not HTTP
 */
export function wholeLength(bytes: Buffer): number | undefined {
  const head = headOf(bytes)
  if (head === undefined) return undefined
  const length = head.fields.get('content-length')
  return length === undefined ? Number.POSITIVE_INFINITY : head.end + Number(length)
}

/** Reads all that arrived on the connection. @throws Error with a code, if this is no HTTP or not a whole response */
export function responseOf(bytes: Buffer): FetchResponse {
  const head = headOf(bytes)
  if (head === undefined) throw bytes.length === 0 || isHttp(bytes) ? cut() : notHttp()
  const { status, fields } = head
  const body = bodyOf(fields, bytes.subarray(head.end))
  return {
    status,
    headers: { get: (name) => fields.get(name.toLowerCase()) ?? null },
    text: async () => body.toString('utf8'),
  }
}

const isHttp = (bytes: Buffer): boolean => bytes.toString('latin1', 0, 5) === 'HTTP/'

function headOf(bytes: Buffer): Head | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0 && bytes.length > longestHead) throw notHttp()
  if (end < 0) return undefined
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = statusLine.exec(first)?.[1]
  if (status === undefined) throw notHttp()
  const fields = new Map<string, string>()
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:\s]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
    const before = fields.get(name.toLowerCase())
    fields.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`)
  }
  return { status: Number(status), fields, end: end + 4 }
}

function bodyOf(fields: Head['fields'], rest: Buffer): Buffer {
  const coding = fields.get('transfer-encoding')
  if (coding !== undefined) return unchunked(rest)
  const length = fields.get('content-length')
  if (length === undefined) return rest
  if (!/^\d+$/.test(length)) throw notHttp()
  if (rest.length < Number(length)) throw cut()
  return rest.subarray(0, Number(length))
}

/** The only transfer coding that a node or proxy uses without being asked. */
function unchunked(rest: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const end = rest.indexOf('\r\n', at)
    if (end < 0) throw cut()
    const size = /^([\da-f]{1,7})[ \t]*(?:;|$)/i.exec(rest.toString('latin1', at, end))?.[1]
    if (size === undefined) throw notHttp()
    const length = Number.parseInt(size, 16)
    if (length === 0) return Buffer.concat(chunks)
    at = end + 2 + length + 2
    if (rest.length < at) throw cut()
    chunks.push(rest.subarray(end + 2, at - 2))
  }
}

const failure = (code: string, words: string): Error => Object.assign(new Error(words), { code })
const cut = (): Error => failure('ECONNRESET', 'the connection ended within the response')
export const notHttp = (words = 'the response is not HTTP'): Error => failure('HPE_INVALID_RESPONSE', words)
