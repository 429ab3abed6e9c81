/**
 * The form in which a node answers: HTTP/1.1 with a Content-Length. A hook takes no other response from node:net: none
 * in chunks, no redirect, and no interim one (1xx).
 */
import type { FetchResponse } from '../../sdk/index.ts'

export interface Head {
  readonly status: number
  readonly fields: ReadonlyMap<string, string>
  /** Bytes of the head, and of the whole response. */
  readonly length: number
  readonly responseLength: number
}

const longestHead = 16_384
const longestResponse = 64 * 1024 * 1024
const statusLine = /^HTTP\/1\.1 ([245]\d\d) /
const fieldLine = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e\x80-\xff]*)$/

/** Reads the head of a response. Returns undefined until it is complete. @throws Error for another form */
export function headOf(bytes: Buffer): Head | undefined {
  const start = bytes.toString('latin1', 0, 'HTTP/1.1 '.length)
  if (!'HTTP/1.1 '.startsWith(start)) throw lost()
  const end = bytes.indexOf('\r\n\r\n')
  if (end > longestHead || (end < 0 && bytes.length > longestHead)) throw lost()
  if (end < 0) return undefined
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const fields = fieldsOf(lines)
  const body = fields.get('content-length') ?? ''
  const status = statusLine.exec(first)?.[1]
  if (status === undefined || !/^\d{1,9}$/.test(body) || fields.has('transfer-encoding')) throw lost()
  const length = end + 4
  const responseLength = length + Number(body)
  if (responseLength > longestResponse) throw lost()
  return { status: Number(status), fields, length, responseLength }
}

function fieldsOf(lines: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of lines) {
    const [, name = '', value = ''] = fieldLine.exec(line) ?? []
    if (name === '') throw lost()
    const before = fields.get(name.toLowerCase())
    fields.set(name.toLowerCase(), before === undefined ? value.trim() : `${before}, ${value.trim()}`)
  }
  return fields
}

export function responseOf({ status, fields, length, responseLength }: Head, bytes: Buffer): FetchResponse {
  const body = bytes.subarray(length, responseLength)
  return {
    status,
    headers: { get: (name) => fields.get(name.toLowerCase()) ?? null },
    text: async () => body.toString('utf8'),
  }
}

/** The client sends the request again after an error with this code. */
export const lost = (): Error =>
  Object.assign(new Error('the response is cut, or not in the form of a node'), { code: 'ECONNRESET' })
